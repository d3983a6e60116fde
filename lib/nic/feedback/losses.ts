import type { LossSample } from '../../cc/congestion-control.js'
import type { Nanos } from '../../time/nanos.js'
import type { CongestionModule } from './congestion-module.js'
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
  #spurious = false

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

  /** What was reported last had not been lost. */
  takeBack(): void {
    this.#spurious = true
  }

  /** True if there is something that the controller has to hear. */
  get any(): boolean {
    return this.#spurious || this.#sample.lostBytes > 0 || this.#sample.byTimeout
  }

  /** Reports all of it to the controller. */
  tell(now: Nanos, module: CongestionModule, inFlightBytes: number, ackedBytes: number): void {
    if (this.#spurious) module.onSpurious(now)
    this.#spurious = false
    const sample = this.#sample
    if (sample.lostBytes === 0 && !sample.byTimeout) return
    sample.sndNxt = this.#sent.count
    sample.inFlightBytes = inFlightBytes
    sample.ackedBytes = ackedBytes
    module.onLoss(now, sample)
    this.forget()
  }

  /** There is no controller yet. */
  forget(): void {
    this.#sample.lostBytes = 0
    this.#sample.newestSeq = -1
    this.#sample.byTimeout = false
  }
}
