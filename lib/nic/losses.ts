import type { LossSample } from '../cc/congestion-control.js'
import type { Transmissions } from './transmissions.js'

/** What a flow's queue pair has said of losses since its controller last heard of them. */
export class Losses {
  readonly #sent: Transmissions
  readonly #sample: LossSample = {
    lostBytes: 0,
    newestSeq: -1,
    sndNxt: 0,
    inFlightBytes: 0,
    ackedBytes: 0,
    byTimeout: false,
  }

  constructor(sent: Transmissions) {
    this.#sent = sent
  }

  /** @param newestSeq PSN of the lost packet that was sent last, as in QpObserver */
  add(lostBytes: number, byTimeout: boolean, newestSeq: number): void {
    const sample = this.#sample
    sample.lostBytes += lostBytes
    sample.byTimeout ||= byTimeout
    if (lostBytes === 0) return
    const newest = byTimeout ? this.#sent.count - 1 : this.#sent.requestOf(newestSeq)
    sample.newestSeq = Math.max(sample.newestSeq, newest)
  }

  /** True if there is something that the controller has to hear. */
  get any(): boolean {
    return this.#sample.lostBytes > 0 || this.#sample.byTimeout
  }

  /** All of it, in one object that is reused; `clear` when the controller has heard it. */
  sample(inFlightBytes: number, ackedBytes: number): LossSample {
    const sample = this.#sample
    sample.sndNxt = this.#sent.count
    sample.inFlightBytes = inFlightBytes
    sample.ackedBytes = ackedBytes
    return sample
  }

  clear(): void {
    this.#sample.lostBytes = 0
    this.#sample.newestSeq = -1
    this.#sample.byTimeout = false
  }
}
