import type { AckSample } from '../cc/congestion-control.js'
import type { Nanos } from '../time/nanos.js'
import { SendLog } from './send-log.js'

/** The packets with payload that a flow has sent, requests and READ responses: numbered in one count, from 0, by which controllers go. */
export class Transmissions {
  /** Sent so far. */
  count = 0
  /** When the last READ response left. */
  lastResponseNs: Nanos = Number.NEGATIVE_INFINITY
  readonly #requests: SendLog
  /** Made when the first READ is answered. */
  #responses: SendLog | null = null
  #lastResponsePsn = -1
  #lastWasResponse = false
  readonly #packets: number

  /** @param packets that may be unacknowledged at a time, a power of two */
  constructor(packets: number) {
    this.#packets = packets
    this.#requests = new SendLog(packets)
  }

  /** A request packet leaves. Returns its number. */
  requestSent(psn: number, now: Nanos, again: boolean): number {
    this.#requests.record(psn, now, this.count, again)
    this.#lastWasResponse = false
    return this.count++
  }

  /** A READ response leaves. True if the peer has asked for it again. */
  responseSent(psn: number, now: Nanos): boolean {
    this.#responses ??= new SendLog(this.#packets)
    const again = psn <= this.#lastResponsePsn
    this.#responses.record(psn, now, this.count++, again)
    this.lastResponseNs = now
    this.#lastWasResponse = true
    if (!again) this.#lastResponsePsn = psn
    return again
  }

  /** Number of the last transmission of a request packet. */
  requestOf(psn: number): number {
    return this.#requests.transmissionOf(psn)
  }

  /** Number of the last transmission of a READ response; 0 if there is none. */
  responseOf(psn: number): number {
    return this.#responses?.transmissionOf(psn) ?? 0
  }

  /** The packet sent last was a READ response. */
  get lastWasResponse(): boolean {
    return this.#lastWasResponse
  }

  /** Number and round-trip time of the packet that a sample speaks of. False if no such packet was sent. @param ofResponse it was a READ response */
  fill(sample: AckSample, now: Nanos, ofResponse: boolean, psn: number): boolean {
    const log = ofResponse ? this.#responses : this.#requests
    if (log === null) return false
    sample.seq = log.transmissionOf(psn)
    sample.rttNs = log.rttNs(psn, now)
    return true
  }
}
