import { type AckSample, UNKNOWN_NS } from '../../cc/congestion-control.js'
import type { QueuePair } from '../../qp/queue-pair.js'
import { SendLog } from '../../qp/recovery/send-log.js'
import type { Nanos } from '../../time/nanos.js'

/**
 * The packets with payload that a flow has sent, requests and READ responses: numbered in one count, from 0, which controllers use.
 * The queue pair counts, and keeps the log of requests; that of READ responses is kept here.
 */
export class Transmissions {
  /** When the last READ response left. */
  lastResponseNs: Nanos = Number.NEGATIVE_INFINITY
  readonly #qp: QueuePair
  /** Made when the first READ is answered. */
  #responses: SendLog | null = null
  #firstResponsePsn = -1
  #lastResponsePsn = -1
  #lastResponseNumber = -1
  readonly #packets: number

  /** @param packets that may be unacknowledged at a time, a power of two */
  constructor(qp: QueuePair, packets: number) {
    this.#qp = qp
    this.#packets = packets
  }

  /** Sent so far. */
  get count(): number {
    return this.#qp.transmissions
  }

  /** A READ response has left. True if the peer has requested it again. */
  responseSent(psn: number, now: Nanos): boolean {
    if (this.#responses === null) {
      this.#responses = new SendLog(this.#packets)
      this.#firstResponsePsn = psn
    }
    const again = psn <= this.#lastResponsePsn
    // Nothing says which of them have arrived: as many are remembered as may be in flight.
    const oldestPsn = Math.max(this.#firstResponsePsn, psn - this.#packets + 1)
    this.#responses.record(psn, now, this.count - 1, again, oldestPsn)
    this.lastResponseNs = now
    this.#lastResponseNumber = this.count - 1
    if (!again) this.#lastResponsePsn = psn
    return again
  }

  /** Number of the last transmission of a request packet. */
  requestOf(psn: number): number {
    return this.#qp.sendLog.numberOf(psn)
  }

  /** Number of the last transmission of a READ response; -1 if there is none. */
  responseOf(psn: number): number {
    return this.#responses?.numberOf(psn) ?? -1
  }

  /** A packet of this PSN was sent not long ago. @param ofResponse as a READ response */
  names(ofResponse: boolean, psn: number): boolean {
    return (ofResponse ? this.responseOf(psn) : this.requestOf(psn)) >= 0
  }

  /** When that READ response last left. It must be known. */
  responseSentNs(psn: number): Nanos {
    return this.#responses!.sentNs(psn)
  }

  /** The packet sent last was a READ response. */
  get lastWasResponse(): boolean {
    return this.count > 0 && this.#lastResponseNumber === this.count - 1
  }

  /** Number and round-trip time of the packet that a sample speaks of. False if no such packet was sent. @param ofResponse it was a READ response */
  fill(sample: AckSample, ofResponse: boolean, psn: number): boolean {
    const log = ofResponse ? this.#responses : this.#qp.sendLog
    if (log === null) return false
    sample.seq = -1
    sample.rttNs = 0
    sample.sinceRepeatNs = 0
    const place = log.placeOf(psn)
    if (place >= 0) {
      sample.seq = log.numberAt(place)
      // The stamp of an arrival may be a little early: a round trip of nothing is none.
      const sinceNs = Math.max(0, sample.heardNs - log.sentNsAt(place))
      if (log.wasRepeatedAt(place)) sample.sinceRepeatNs = sinceNs
      else sample.rttNs = sinceNs
    }
    sample.sentNs = sample.rttNs > 0 ? sample.heardNs - sample.rttNs : UNKNOWN_NS
    return true
  }
}
