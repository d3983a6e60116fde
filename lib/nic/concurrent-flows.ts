import { MILLISECOND, type Nanos } from '../time/nanos.js'
import type { Flow } from './flow.js'

const EPOCH_NS = 10 * MILLISECOND

/** Counts the flows that send to this host now: N, as the receiver reports it. A flow counts that sent within the last 10 ms. */
export class ConcurrentFlows {
  #epoch = 0
  #current = 0
  #last = 0

  onData(now: Nanos, flow: Flow): void {
    const epoch = Math.floor(now / EPOCH_NS)
    if (flow.receiveEpoch === epoch) return
    if (this.#epoch !== epoch) {
      this.#last = this.#epoch === epoch - 1 ? this.#current : 0
      this.#epoch = epoch
      this.#current = 0
    }
    flow.receiveEpoch = epoch
    this.#current++
  }

  get count(): number {
    return Math.max(this.#current, this.#last)
  }
}
