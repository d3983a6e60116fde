/**
 * DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010): a window that grows as Reno's (RFC 5681), and is reduced in proportion to the share of
 * bytes that switches mark, at most once in a round trip:
 *
 *     cwnd = cwnd (1 - alpha / 2)                                                    (RFC 8257, section 3.3)
 *
 * Losses and timeouts count as in Reno (section 3.5): half of the window remains after a loss, a packet after a timeout. Windows are payload
 * bytes in flight, rates bit/s. A Weir peer counts marked packets exactly, however rarely it acknowledges (`markedBytes` of the samples),
 * so it needs no state machine for delayed acknowledgements (section 3.2). The window is paced, which RFC 8257 leaves open.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
  roundTripOf,
} from '../congestion-control.js'
import type { OptionValues } from '../options.js'
import { type DctcpConstants, dctcpConstants } from './dctcp-options.js'
import { MarkFraction } from './mark-fraction.js'

/** The window after a timeout, in packets (RFC 5681, section 3.1: LW). */
const LOSS_WINDOW_PACKETS = 1
/** Weight of a round trip in their mean (RFC 6298, section 2). */
const RTT_GAIN = 1 / 8
/** Pace as a multiple of window / round trip, in slow start and at other times (as CUBIC's). */
const SLOW_START_GAIN = 2
const GAIN = 1.25

/** The controller of one flow. */
export class Dctcp implements CongestionControl {
  readonly name = 'dctcp'
  /** It goes by marks alone, so packets may leave in runs. */
  readonly collectsAll = false
  readonly observed = ['windowBytes', 'ssthreshBytes', 'alpha', 'rateBps'] as const
  readonly #constants: DctcpConstants
  readonly #lineRateBps: number
  readonly #mtu: number
  readonly #careful: boolean
  readonly #fraction: MarkFraction
  #baseRttNs: Nanos
  /** Round trips, smoothed; 0 = none has been measured. */
  #rttNs: Nanos = 0
  #cwnd = 0
  #ssthresh = Number.POSITIVE_INFINITY
  /** The first transmissions after the last reductions, by a mark and by a loss. */
  #markedSeq = 0
  #lostSeq = 0
  /** The newest transmission acknowledged. */
  #ackedSeq = -1
  /** What a spurious loss is taken back to; 0 = there is nothing to take back. */
  #undoCwnd = 0
  #undoSsthresh = 0
  #undoLostSeq = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#constants = dctcpConstants(options)
    this.#lineRateBps = context.lineRateBps
    this.#mtu = context.mtuBytes
    this.#careful = context.careful === true
    this.#baseRttNs = context.baseRttNs
    this.#fraction = new MarkFraction(this.#constants.g)
    this.#begin()
  }

  /** A window of line rate x T has nothing to find out by slow start. */
  #begin(): void {
    const { initialPackets } = this.#constants
    const isLineRate = Number.isNaN(initialPackets) && !this.#careful
    const packets = Number.isNaN(initialPackets) ? CAREFUL_PACKETS : initialPackets
    this.#cwnd = this.#bounded(isLineRate ? (this.#lineRateBps * this.#baseRttNs) / 8e9 : packets * this.#mtu)
    this.#ssthresh = isLineRate ? this.#cwnd : Number.POSITIVE_INFINITY
  }

  windowBytes(): number {
    return this.#cwnd
  }

  rateBps(): number {
    const gain = this.#cwnd < this.#ssthresh ? SLOW_START_GAIN : GAIN
    const rttNs = Math.max(1, this.#rttNs || this.#baseRttNs)
    return Math.min(this.#lineRateBps, (gain * this.#cwnd * 8e9) / rttNs)
  }

  onAck(_now: Nanos, sample: AckSample): void {
    const { seq, sndNxt, ackedBytes, markedBytes, inFlightBytes } = sample
    const rttNs = roundTripOf(sample, this.#baseRttNs)
    if (rttNs > 0) this.#rttNs += this.#rttNs === 0 ? rttNs : RTT_GAIN * (rttNs - this.#rttNs)
    this.#ackedSeq = Math.max(this.#ackedSeq, seq)
    this.#fraction.onAck(seq, sndNxt, ackedBytes, markedBytes)
    if (markedBytes > 0) this.#onMark(seq, sndNxt)
    const reduced = seq < this.#markedSeq || seq < this.#lostSeq
    // A window that is not used must not grow: nothing has shown that the path carries more (RFC 7661, section 4.1).
    if (!reduced && 2 * (inFlightBytes + ackedBytes) >= this.#cwnd) this.#grow(ackedBytes)
  }

  /** Once in a round trip (section 3.3). */
  #onMark(seq: number, sndNxt: number): void {
    if (seq < this.#markedSeq || seq < this.#lostSeq) return
    this.#cwnd = this.#reducedTo(this.#cwnd * (1 - this.#fraction.alpha / 2))
    this.#ssthresh = this.#cwnd
    this.#markedSeq = sndNxt
    this.#undoCwnd = 0
  }

  /** RFC 5681, section 3.1. */
  #grow(ackedBytes: number): void {
    const { increase } = this.#constants
    if (this.#cwnd < this.#ssthresh) {
      this.#cwnd = this.#bounded(Math.min(this.#cwnd + ackedBytes, this.#ssthresh))
      return
    }
    const share = Math.min(1, ackedBytes / this.#cwnd)
    this.#cwnd = this.#bounded(this.#cwnd + increase * this.#mtu * share)
  }

  /** A plain RoCEv2 peer says no more than that there are marks. What has been acknowledged since the last reduction shows a round trip. */
  onCnp(_now: Nanos, { sndNxt }: AckSample): void {
    this.#fraction.onCnp()
    this.#onMark(this.#ackedSeq, sndNxt)
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    // What queues there were have gone. Until another round trip shows, nothing may be paced by theirs.
    if (loss.byTimeout) this.#rttNs = 0
    if (loss.newestSeq < this.#lostSeq && !loss.byTimeout) return
    const { beta } = this.#constants
    const inFlight = loss.inFlightBytes + loss.lostBytes + loss.ackedBytes
    this.#undoCwnd = this.#cwnd
    this.#undoSsthresh = this.#ssthresh
    this.#undoLostSeq = this.#lostSeq
    // Only the part of a window counts that was used. A second timeout in a row leaves the threshold.
    if (this.#cwnd > LOSS_WINDOW_PACKETS * this.#mtu || !loss.byTimeout)
      this.#ssthresh = this.#reducedTo(beta * Math.min(this.#cwnd, Math.max(inFlight, this.#mtu)))
    this.#cwnd = loss.byTimeout ? this.#bounded(LOSS_WINDOW_PACKETS * this.#mtu) : this.#ssthresh
    this.#lostSeq = loss.sndNxt
  }

  /** What the last loss spoke of had arrived: for what was sent before it, nothing has been reduced (RFC 4015, section 3.2). */
  onSpurious(): void {
    if (this.#undoCwnd === 0) return
    this.#cwnd = Math.max(this.#cwnd, this.#undoCwnd)
    this.#ssthresh = this.#undoSsthresh
    this.#lostSeq = this.#undoLostSeq
    this.#undoCwnd = 0
  }

  #reducedTo(bytes: number): number {
    return this.#bounded(Math.max(bytes, this.#constants.minPackets * this.#mtu))
  }

  #bounded(bytes: number): number {
    return Math.max(this.#mtu, Math.min(bytes, this.#constants.maxWindowBytes))
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#baseRttNs = baseRttNs
    // Until something is acknowledged T may have been a guess.
    if (this.#ackedSeq < 0) this.#begin()
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#rttNs = 0
    this.#fraction.forget()
    this.#undoCwnd = 0
    this.#begin()
  }

  observe(into: Float64Array): void {
    into[0] = this.#cwnd
    into[1] = Math.min(this.#ssthresh, this.#constants.maxWindowBytes)
    into[2] = this.#fraction.alpha
    into[3] = this.rateBps()
  }
}
