/**
 * CUBIC (RFC 9438), the congestion control of most of the Internet's TCP: the window grows as a cubic function of the time
 * since it was last reduced, and is reduced to 0.7 of itself by a loss or an ECN mark, at most once a round trip.
 *
 * Slow start is HyStart++'s, recovery is by proportional rate reduction, and everything is paced. Windows are payload
 * bytes in flight, as the scoreboard counts them: what is lost or has arrived out of order is not in flight.
 */
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { AckSample, CongestionContext, CongestionControl, LossSample } from '../congestion-control.js'
import type { OptionValues } from '../options.js'
import { CubicGrowth } from './cubic-growth.js'
import { type CubicConstants, cubicConstants } from './cubic-options.js'
import { HyStart } from './hystart.js'
import { Prr } from './prr.js'
import { RttEstimator } from './rtt-estimator.js'
import { WindowUse } from './window-use.js'

/** The window after a timeout, in packets (RFC 5681, section 3.1: LW). */
const LOSS_WINDOW_PACKETS = 1
/** In the first slow start AckReq comes at least this often in a window: in one of 64 packets as often as TCP's acknowledgement of every second. */
const SLOW_START_ACK_SHARE = 1 / 32
/** A careful flow's first packets leave within this time, however long the round trip is guessed to be. */
const FIRST_WINDOW_MOST_NS: Nanos = 10 * MILLISECOND
/** A queue is on the path where round trips are longer than T by more than this share of it. */
const QUEUED_SHARE = 1 / 2
/** What a pause leaves of the memory of a window that was good before it (RFC 2861, section 3.1). */
const IDLE_SSTHRESH = 3 / 4

/** The controller of one flow. */
export class Cubic implements CongestionControl {
  readonly name = 'cubic'
  /** Telemetry says nothing of the path. */
  readonly collectsAll = false
  readonly observed = ['windowBytes', 'ssthreshBytes', 'wMaxBytes', 'wEstBytes', 'rateBps'] as const
  readonly #constants: CubicConstants
  readonly #lineRateBps: number
  readonly #mtu: number
  readonly #growth: CubicGrowth
  readonly #prr: Prr
  readonly #rtt: RttEstimator
  readonly #use = new WindowUse()
  /** Judges the first slow start, as long as there is no threshold (RFC 9406, section 4.3). */
  #hystart: HyStart
  /** The round trip that paces the flow until one has been measured. */
  #expectedRttNs: Nanos
  #cwnd: number
  /** The window when this round trip began. */
  #roundCwnd: number
  /** The first transmission after slow start slowed down, and the window that those before it were sent with. */
  #cutSeq = 0
  #uncutCwnd = 0
  #ssthresh = Number.POSITIVE_INFINITY
  #rateBps = 0
  /** Recovery, after a reduction, until a packet sent since is acknowledged. */
  #recovering = false
  /** The first transmission after the last reduction: what was sent before says nothing of the window since. */
  #recoverySeq = 0
  /** The newest transmission acknowledged, and the next one to be made. */
  #ackedSeq = -1
  #sndNxt = 0
  /** A loss has been reported since the last acknowledgement, so it is not safe (RFC 9937). */
  #lossTold = false
  /** Several timeouts have come in a row, and nothing has been acknowledged since the first. */
  #timedOut = false
  #lastSentNs: Nanos = NEVER
  /** What a spurious reduction is taken back to; 0 = there is nothing to take back. */
  #undoCwnd = 0
  #undoSsthresh = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const constants = cubicConstants(options)
    this.#constants = constants
    this.#lineRateBps = context.lineRateBps
    this.#mtu = context.mtuBytes
    this.#growth = new CubicGrowth(
      Math.max(context.mtuBytes, constants.segmentBytes),
      context.mtuBytes,
      constants,
    )
    this.#prr = new Prr(context.mtuBytes)
    this.#rtt = new RttEstimator(constants.timeoutLeastNs)
    this.#hystart = new HyStart(constants)
    this.#expectedRttNs = context.careful
      ? Math.min(context.baseRttNs, FIRST_WINDOW_MOST_NS)
      : context.baseRttNs
    this.#cwnd = this.#initialBytes
    this.#roundCwnd = this.#cwnd
    this.#pace()
  }

  get #initialBytes(): number {
    return Math.min(this.#constants.initialPackets * this.#mtu, this.#constants.maxWindowBytes)
  }

  windowBytes(): number {
    return this.#cwnd
  }

  /** HyStart++ sees a queue as late as acknowledgements show it. */
  get ackShare(): number | undefined {
    return this.#isFirstSlowStart ? SLOW_START_ACK_SHARE : undefined
  }

  get #isFirstSlowStart(): boolean {
    return this.#constants.hystart && this.#ssthresh === Number.POSITIVE_INFINITY
  }

  rateBps(): number {
    return this.#rateBps
  }

  /** The round trip, smoothed; 0 = not measured. */
  get srttNs(): Nanos {
    return this.#rtt.srttNs
  }

  /** Goes on from where another controller was: in congestion avoidance, with its window. */
  takeOver(now: Nanos, windowBytes: number, sndNxt: number): void {
    this.#cwnd = this.#bounded(windowBytes)
    this.#ssthresh = this.#cwnd
    this.#recovering = false
    this.#recoverySeq = sndNxt
    this.#undoCwnd = 0
    this.#growth.beginFresh(now, this.#cwnd)
    this.#pace()
  }

  onSent(now: Nanos, seq: number, bytes: number): void {
    this.#sndNxt = seq + 1
    if (this.#use.inFlightBytes === 0) this.#resume(now)
    this.#lastSentNs = now
    this.#use.onSent(bytes)
    if (this.#recovering) this.#prr.onSent(bytes)
  }

  /** Nothing was in flight: after a long pause the path may have changed. */
  #resume(now: Nanos): void {
    const pauses = Math.floor((now - this.#lastSentNs) / this.#rtt.timeoutNs)
    if (!this.#constants.idleRestart || !(pauses > 0) || this.#recovering) return
    const least = Math.min(this.#cwnd, this.#initialBytes)
    this.#ssthresh = Math.max(this.#ssthresh, IDLE_SSTHRESH * this.#cwnd)
    this.#cwnd = Math.max(least, this.#cwnd / 2 ** pauses)
    this.#pace()
  }

  onAck(now: Nanos, sample: AckSample): void {
    const { seq, sndNxt, ackedBytes, inFlightBytes, rttNs } = sample
    this.#rtt.onSample(rttNs)
    const cameSince = seq >= this.#recoverySeq
    this.#ackedSeq = Math.max(this.#ackedSeq, seq)
    const newRound = this.#use.onAck(seq, sndNxt, inFlightBytes)
    if (newRound) this.#rtt.onRound()
    if (ackedBytes > 0) this.#timedOut = false
    if (this.#recovering && cameSince) this.#leaveRecovery(now)
    if (sample.ecnEcho && cameSince)
      this.#reduce(this.#constants.betaEcn, seq, sndNxt, inFlightBytes + ackedBytes, true)
    if (this.#recovering) this.#recover(sample)
    else this.#grow(now, sample, newRound)
    if (newRound) this.#roundCwnd = this.#cwnd
    this.#lossTold = false
    this.#pace()
  }

  #grow(now: Nanos, { ackedBytes, rttNs, sndNxt }: AckSample, newRound: boolean): void {
    const inSlowStart = this.#cwnd < this.#ssthresh
    const isFirst = this.#isFirstSlowStart
    const isOver = isFirst && this.#hystart.onAck(now, rttNs, newRound, ackedBytes / this.#mtu)
    if (isFirst && this.#hystart.slowedDown) this.#cut(sndNxt)
    if (isOver) {
      this.#ssthresh = this.#cwnd
      this.#growth.beginFirst(now, this.#cwnd, this.#hystart.queuedNs)
    } else if (!this.#use.isUsed(this.#cwnd)) {
      this.#growth.pause(now)
    } else if (inSlowStart) {
      const grown = this.#cwnd + ackedBytes / (isFirst ? this.#hystart.divisor : 1)
      this.#cwnd = this.#bounded(Math.min(grown, this.#ssthresh))
      if (this.#cwnd >= this.#ssthresh) this.#growth.beginFresh(now, this.#cwnd)
    } else {
      const srttNs = this.#rtt.srttNs || this.#expectedRttNs
      const next = this.#growth.next(now, this.#cwnd, ackedBytes, srttNs, this.#rtt.leastNs)
      this.#cwnd = this.#bounded(next)
    }
  }

  /** Goes back to the window of the packets by which the path was judged. */
  #cut(sndNxt: number): void {
    this.#cutSeq = sndNxt
    this.#uncutCwnd = this.#cwnd
    this.#cwnd = Math.min(this.#cwnd, this.#roundCwnd)
  }

  #bounded(windowBytes: number): number {
    return Math.max(this.#mtu, Math.min(windowBytes, this.#constants.maxWindowBytes))
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#use.set(loss.inFlightBytes)
    this.#lossTold = true
    if (loss.byTimeout) this.#timeOut(loss)
    else if (loss.newestSeq >= this.#recoverySeq)
      this.#reduce(
        this.#constants.beta,
        loss.newestSeq,
        loss.sndNxt,
        loss.inFlightBytes + loss.lostBytes + loss.ackedBytes,
        this.#meetsQueue,
      )
    // A loss makes no room by itself: acknowledgements do.
    else if (this.#recovering && this.#constants.prr)
      this.#cwnd = this.#bounded(Math.max(this.#cwnd - loss.lostBytes, loss.inFlightBytes + this.#mtu))
    this.#pace()
  }

  onCnp(_now: Nanos): void {
    if (this.#ackedSeq < this.#recoverySeq) return
    // A CNP names no packet. What has been acknowledged since the last reduction shows that a round trip has passed.
    this.#reduce(this.#constants.betaEcn, this.#ackedSeq, this.#sndNxt, this.#use.inFlightBytes, true)
    this.#pace()
  }

  /**
   * A congestion event (section 4.6).
   * @param seq the packet that shows it; @param recoverFs bytes that were in flight before it
   * @param byQueue a queue on the path dropped or marked it
   */
  #reduce(beta: number, seq: number, sndNxt: number, recoverFs: number, byQueue: boolean): void {
    const { minPackets, prr } = this.#constants
    const cwnd = seq < this.#cutSeq ? Math.max(this.#cwnd, this.#uncutCwnd) : this.#cwnd
    this.#remember()
    this.#growth.reduce(cwnd, byQueue)
    // Only the part of a window counts that was used.
    const used = Math.min(cwnd, Math.max(this.#use.peakBytes, recoverFs))
    this.#ssthresh = Math.max(used * beta, minPackets * this.#mtu)
    this.#recovering = true
    this.#recoverySeq = sndNxt
    this.#prr.enter(this.#ssthresh, recoverFs)
    this.#cwnd = this.#bounded(prr ? this.#use.inFlightBytes + this.#mtu : this.#ssthresh)
  }

  get #meetsQueue(): boolean {
    return this.#rtt.srttNs > (1 + QUEUED_SHARE) * this.#expectedRttNs
  }

  #remember(): void {
    this.#undoCwnd = this.#recovering ? this.#ssthresh : this.#cwnd
    this.#undoSsthresh = this.#ssthresh
  }

  #recover({ ackedBytes, inFlightBytes, advanced }: AckSample): void {
    if (!this.#constants.prr) return
    const sndcnt = this.#prr.onAck(ackedBytes, inFlightBytes, advanced && !this.#lossTold)
    this.#cwnd = this.#bounded(inFlightBytes + sndcnt)
  }

  #leaveRecovery(now: Nanos): void {
    this.#recovering = false
    this.#cwnd = this.#bounded(this.#ssthresh)
    this.#growth.begin(now, this.#cwnd)
  }

  /** Section 4.8: the threshold as after a loss, the window as Reno's. Slow start follows. */
  #timeOut(loss: LossSample): void {
    if (!this.#timedOut) {
      const { beta, minPackets } = this.#constants
      const before = this.#recovering ? this.#ssthresh : this.#cwnd
      this.#remember()
      this.#growth.reduce(before, this.#meetsQueue)
      const used = Math.min(before, Math.max(this.#use.peakBytes, loss.inFlightBytes + loss.lostBytes))
      this.#ssthresh = Math.max(used * beta, minPackets * this.#mtu)
    }
    this.#timedOut = true
    this.#recovering = false
    this.#recoverySeq = loss.sndNxt
    this.#cwnd = LOSS_WINDOW_PACKETS * this.#mtu
  }

  /** Section 4.9: nothing was lost, so the reduction is undone, unless the window has grown beyond that. */
  onSpurious(_now: Nanos): void {
    if (this.#undoCwnd === 0) return
    this.#recovering = false
    this.#timedOut = false
    this.#cwnd = Math.max(this.#cwnd, this.#undoCwnd)
    this.#ssthresh = this.#undoSsthresh
    // Slow start goes on: neither the wait for what was late nor the window after it says anything of the path.
    this.#roundCwnd = this.#cwnd
    this.#hystart.forgetRound()
    this.#growth.undo()
    this.#undoCwnd = 0
    // What was sent before it has not been answered for: a loss there counts.
    this.#recoverySeq = 0
    this.#pace()
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#expectedRttNs = baseRttNs
    this.#pace()
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#rtt.forget()
    this.#hystart = new HyStart(this.#constants)
    this.#cwnd = this.#initialBytes
    this.#roundCwnd = this.#cwnd
    this.#cutSeq = 0
    this.#ssthresh = Number.POSITIVE_INFINITY
    this.#recovering = false
    this.#undoCwnd = 0
    this.#pace()
  }

  #pace(): void {
    const { slowStartGain, avoidanceGain } = this.#constants
    const rttNs = this.#rtt.srttNs || this.#expectedRttNs
    const gain = this.#cwnd < this.#ssthresh && !this.#recovering ? slowStartGain : avoidanceGain
    // In recovery the window is only the room that the last acknowledgement made. The queue that dropped is full, and empties
    // from the first packet on: it would drop faster packets as well, and that would count as another congestion event.
    const windowBytes = this.#recovering ? this.#ssthresh : this.#cwnd
    this.#rateBps = Math.min(this.#lineRateBps, (gain * windowBytes * 8e9) / Math.max(1, rttNs))
  }

  observe(into: Float64Array): void {
    into[0] = this.#cwnd
    into[1] = Math.min(this.#ssthresh, this.#constants.maxWindowBytes)
    into[2] = this.#growth.wMaxBytes
    into[3] = this.#growth.wEstBytes
    into[4] = this.#rateBps
  }
}
