import type { AckSample, CongestionControl, LossSample } from '../cc/congestion-control.js'
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import type { Transmissions } from './transmissions.js'

const PATIENCE_ROUND_TRIPS = 4
const PATIENCE_LEAST_NS: Nanos = 10 * MILLISECOND

/**
 * READ responses under way, for the controller of the end that sends them. Nothing acknowledges them: a notification of
 * one says that those before it have arrived as well, and a response that the peer asks for again was lost.
 */
export class ResponseFlight {
  readonly #mask: number
  /** By the low bits of the PSN: payload bytes of all responses up to that one. */
  readonly #sentThrough: Float64Array
  /** Payload bytes sent, each once, and those of them that have arrived. */
  #sentBytes = 0
  #arrivedBytes = 0
  #lastPsn = -1
  #arrivedPsn = -1
  /** When something last came back, or the first response of those under way left. */
  #newsNs: Nanos = 0
  readonly #loss: LossSample = {
    lostBytes: 0,
    newestSeq: 0,
    sndNxt: 0,
    inFlightBytes: 0,
    ackedBytes: 0,
    byTimeout: false,
  }

  /** @param packets that may be under way at a time, a power of two */
  constructor(packets: number) {
    this.#mask = packets - 1
    this.#sentThrough = new Float64Array(packets)
  }

  get inFlightBytes(): number {
    return this.#sentBytes - this.#arrivedBytes
  }

  /**
   * When responses are no longer waited for: nothing has come back of them for so long. The peer asks for what it misses
   * by itself.
   * @param roundTripNs the last one
   */
  patienceEndsNs(roundTripNs: Nanos): Nanos {
    return this.#newsNs + Math.max(PATIENCE_LEAST_NS, PATIENCE_ROUND_TRIPS * roundTripNs)
  }

  /** All responses under way are taken to have arrived. */
  giveUp(now: Nanos): void {
    this.#arrivedBytes = this.#sentBytes
    this.#arrivedPsn = this.#lastPsn
    this.#newsNs = now
  }

  /** A response leaves. True if the peer has asked for it again: it was lost then, and the controller hears of that first. */
  onSent(now: Nanos, psn: number, bytes: number, sent: Transmissions, cc: CongestionControl | null): boolean {
    const before = sent.responseOf(psn)
    // The queue pair has counted it.
    const number = sent.count - 1
    const again = sent.responseSent(psn, now)
    if (again && cc !== null) this.#lose(now, cc, bytes, before, number)
    if (!again) {
      if (this.inFlightBytes === 0) this.#newsNs = now
      this.#sentBytes += bytes
      this.#sentThrough[psn & this.#mask] = this.#sentBytes
      this.#lastPsn = psn
    }
    cc?.onSent(now, number, bytes)
    return again
  }

  #lose(now: Nanos, cc: CongestionControl, bytes: number, before: number, sndNxt: number): void {
    const loss = this.#loss
    loss.lostBytes = bytes
    loss.newestSeq = before
    loss.sndNxt = sndNxt
    loss.inFlightBytes = Math.max(0, this.inFlightBytes - bytes)
    cc.onLoss(now, loss)
  }

  /** That response has arrived: fills in what the sample says of bytes. */
  onArrived(now: Nanos, psn: number, sample: AckSample): void {
    this.#newsNs = now
    sample.ackedBytes = 0
    sample.advanced = psn > this.#arrivedPsn && psn <= this.#lastPsn
    if (sample.advanced && this.#lastPsn - psn <= this.#mask) {
      const through = this.#sentThrough[psn & this.#mask]!
      sample.ackedBytes = through - this.#arrivedBytes
      this.#arrivedBytes = through
      this.#arrivedPsn = psn
    }
    sample.inFlightBytes += this.inFlightBytes
  }
}
