import type { AckSample, LossSample } from '../../cc/congestion-control.js'
import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import type { Transmissions } from './transmissions.js'

const FIRST_CAPACITY = 256
const PATIENCE_ROUND_TRIPS = 4
/** The window counts so much of what a plain peer's READs show to have arrived: when it arrived is not known. */
const LATE_SHARE = 1 / 2
/** To a plain peer responses leave at most so many times as fast as they arrive: enough to find out whether more do. */
const PACE_MOST = 1.25
const PATIENCE_LEAST_NS: Nanos = 10 * MILLISECOND

/** What hears of responses that leave and are lost: the flow's congestion module. */
export interface ResponseHearer {
  onSent(now: Nanos, number: number, bytes: number): void
  onLoss(now: Nanos, loss: LossSample): void
  windowBytes(): number
}

/** What the controller allows now. */
export interface Paced {
  windowBytes(): number
  rateBps(): number
}

/**
 * READ responses under way, for the controller of the end that sends them. Nothing acknowledges them: a notification of
 * one says that all sent before it have arrived or been lost, and a response that the peer asks for again was lost. They are
 * counted by transmissions, so one that is retransmitted is in flight again.
 *
 * A plain RoCEv2 peer sends no notifications. What left a round trip ago is presumed to have arrived there, and its READs
 * show what has (`onTaken`).
 */
export class ResponseFlight {
  readonly #capacityMax: number
  /** By the low bits of a transmission's number: payload bytes of all responses up to that one. It grows with what is under way. */
  #sentThrough: Float64Array
  /** Payload bytes sent, and those of them that are no longer under way. */
  #sentBytes = 0
  #arrivedBytes = 0
  /** Transmissions: the latest one, and the latest one known to have arrived. */
  #lastNumber = -1
  #arrivedNumber = -1
  /** When something last came back, or the first response of those under way left. */
  #newsNs: Nanos = 0
  /** For presumption: the window at first, 0 = the peer answers by itself; a time, and what had been sent by then. */
  #firstWindowBytes = 0
  #markNs: Nanos = 0
  #markBytes = 0
  #markNumber = -1
  /** What a plain peer's READs have shown to have arrived since a time, and the rate of that in the time before. */
  #takenSinceNs: Nanos = -1
  #takenBytes = 0
  #takenBytesPerNs = 0
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
    this.#capacityMax = packets
    this.#sentThrough = new Float64Array(Math.min(FIRST_CAPACITY, packets))
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
    this.#arrivedNumber = this.#lastNumber
    this.#newsNs = now
  }

  /**
   * A response leaves. True if the peer has asked for it again: it was lost then, and the controller hears of that first.
   * What the peer has asked for sooner than a round trip after it left was not missing: the question crossed it.
   * @param baseRttNs T
   */
  onSent(
    now: Nanos,
    psn: number,
    bytes: number,
    sent: Transmissions,
    hearer: ResponseHearer | null,
    baseRttNs: Nanos,
  ): boolean {
    const before = sent.responseOf(psn)
    const beforeNs = before >= 0 ? sent.responseSentNs(psn) : now
    // The queue pair has counted it.
    const number = sent.count - 1
    const again = sent.responseSent(psn, now)
    if (again && hearer !== null && now - beforeNs >= baseRttNs)
      this.#lose(now, hearer, bytes, before, number)
    if (this.inFlightBytes === 0) {
      this.#newsNs = now
      this.#arrivedNumber = number - 1
    }
    this.#sentBytes += bytes
    if (number - this.#arrivedNumber > this.#sentThrough.length) this.#grow()
    this.#sentThrough[number & (this.#sentThrough.length - 1)] = this.#sentBytes
    this.#lastNumber = number
    hearer?.onSent(now, number, bytes)
    return again
  }

  #grow(): void {
    const before = this.#sentThrough
    if (before.length === this.#capacityMax) return
    const after = new Float64Array(Math.min(this.#capacityMax, 2 * before.length))
    for (let number = this.#lastNumber - before.length + 1; number <= this.#lastNumber; number++) {
      after[number & (after.length - 1)] = before[number & (before.length - 1)]!
    }
    this.#sentThrough = after
  }

  #lose(now: Nanos, hearer: ResponseHearer, bytes: number, before: number, sndNxt: number): void {
    const loss = this.#loss
    loss.lostBytes = bytes
    loss.newestSeq = before
    loss.sndNxt = sndNxt
    const lostBytes = before > this.#arrivedNumber ? bytes : 0
    const inFlightBytes =
      this.#firstWindowBytes > 0 ? Math.min(this.inFlightBytes, hearer.windowBytes()) : this.inFlightBytes
    loss.inFlightBytes = Math.max(0, inFlightBytes - lostBytes)
    hearer.onLoss(now, loss)
  }

  /**
   * What left before the last two marks is presumed to have arrived; there is a mark each `roundTripNs`. No more than a window
   * counts as under way.
   */
  presume(now: Nanos, roundTripNs: Nanos, windowBytes: number): void {
    if (this.#firstWindowBytes === 0) this.#firstWindowBytes = windowBytes
    if (now - this.#markNs < roundTripNs) return
    this.#arrivedBytes = Math.max(this.#arrivedBytes, this.#markBytes)
    this.#arrivedNumber = Math.max(this.#arrivedNumber, this.#markNumber)
    this.#markNs = now
    this.#markBytes = this.#sentBytes
    this.#markNumber = this.#lastNumber
  }

  /**
   * The peer has shown that it has so many bytes more: fills in what that says. READs show it late, and not how long the queue on the
   * path is: beyond what it began with the window grows only as long as responses arrive about as fast as they leave.
   * @param baseRttNs T
   */
  onTaken(now: Nanos, sample: AckSample, bytes: number, control: Paced, baseRttNs: Nanos): void {
    this.#measureTaken(now, bytes, baseRttNs)
    const windowBytes = control.windowBytes()
    const mayGrow =
      windowBytes < this.#firstWindowBytes || control.rateBps() < PACE_MOST * 8e9 * this.#takenBytesPerNs
    sample.ackedBytes = mayGrow ? Math.min(bytes, windowBytes) * LATE_SHARE : 0
    sample.advanced = true
    sample.inFlightBytes += Math.min(this.inFlightBytes, windowBytes)
  }

  /** The rate is a mean over T at least. What the first such READ shows began to leave at a time that is not known. */
  #measureTaken(now: Nanos, bytes: number, baseRttNs: Nanos): void {
    if (this.#takenSinceNs < 0) {
      this.#takenSinceNs = now
      return
    }
    this.#takenBytes += bytes
    const elapsedNs = now - this.#takenSinceNs
    if (elapsedNs < baseRttNs) return
    this.#takenBytesPerNs = this.#takenBytes / elapsedNs
    this.#takenSinceNs = now
    this.#takenBytes = 0
  }

  /** The response that the sample speaks of has arrived: fills in what it says of bytes. */
  onArrived(now: Nanos, sample: AckSample): void {
    const number = sample.seq
    this.#newsNs = now
    sample.ackedBytes = 0
    sample.advanced = number > this.#arrivedNumber && number <= this.#lastNumber
    if (sample.advanced && this.#lastNumber - number < this.#sentThrough.length) {
      const through = this.#sentThrough[number & (this.#sentThrough.length - 1)]!
      sample.ackedBytes = through - this.#arrivedBytes
      this.#arrivedBytes = through
      this.#arrivedNumber = number
    }
    sample.inFlightBytes += this.inFlightBytes
  }
}
