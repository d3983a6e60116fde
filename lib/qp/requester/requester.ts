import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import type { QpContext } from '../context/context.js'
import { bytesBetween, type SendSlot } from '../queues/send-queue.js'
import { WorkStatus } from '../queues/work-status.js'
import { Outbound } from '../recovery/outbound.js'
import { SelectiveRepeat } from '../recovery/selective-repeat.js'
import { TailProbe } from '../recovery/tail-probe.js'
import { Retries } from './retries.js'
import { goForward, Silence } from './silence.js'
import { RequesterTimers } from './timers.js'

const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * The requester: the rules that move its stream of requests (IBA 9.7.1, 9.7.3, 9.7.6, 9.9.2). With selective repeat single
 * packets before `sendSeq` are retransmitted (selective-repeat.ts), and going back is left for silence and for NAKs.
 * transmit-request.ts writes the packets; on-acknowledge.ts, on-sack.ts and on-response.ts take the answers.
 *
 * After silence one packet leaves alone until the peer answers. The answer says what has arrived (RFC 5682), and no
 * second window meets a full queue.
 */
export class Requester {
  readonly context: QpContext
  readonly outbound: Outbound
  readonly timers: RequesterTimers
  /** Selective repeat, once there is something to know of single packets: null before that, and with go-back-N. */
  doubts: SelectiveRepeat | null = null
  #isSelective = false
  /** Probes of selective repeat for what was sent last. */
  tail: TailProbe | null = null
  readonly #silence: Silence
  readonly #retries: Retries
  /** The PSN to which the last NAK, received or implied, made the requester go back. The same NAK again changes nothing. */
  #repairedSeq = NO_SEQ

  constructor(context: QpContext) {
    const { retransmitTimeoutLeastNs } = context.settings
    this.context = context
    this.outbound = new Outbound(context)
    this.timers = new RequesterTimers(this.outbound.trips, retransmitTimeoutLeastNs)
    this.#retries = new Retries(context.settings)
    this.#silence = new Silence(this.outbound)
  }

  /** Begins with that PSN. */
  start(sendPsn: number): void {
    const { outbound } = this
    const settings = this.context.settings
    outbound.start(sendPsn)
    this.#repairedSeq = NO_SEQ
    this.#silence.onHeard()
    this.timers.stop()
    this.doubts?.stop()
    this.doubts = null
    this.#isSelective = settings.selectiveRepeat
    this.tail = settings.selectiveRepeat ? new TailProbe(outbound.trips, settings.probeTimeoutLeastNs) : null
    this.takeSettings()
  }

  /** Selective repeat, which has something to know from now on; null: go-back-N. */
  get selective(): SelectiveRepeat | null {
    if (this.#isSelective) this.doubts ??= new SelectiveRepeat(this.outbound)
    return this.doubts
  }

  /** Takes over settings that may have changed. */
  takeSettings(): void {
    const settings = this.context.settings
    this.timers.setExponent(settings.ackTimeoutExponent)
    this.#retries.restore()
  }

  /** The PSN that `nextSlot` speaks of: a lost one, or `sendSeq`. */
  get nextSeq(): number {
    const { doubts } = this
    return doubts?.hasLost ? doubts.lostSeq : this.outbound.sendSeq
  }

  /** The work request whose packet goes next, or null when none may. */
  nextSlot(): SendSlot | null {
    const { outbound } = this
    const context = this.context
    const queue = context.sendQueue
    if (queue.isEmpty) return null
    if (this.#silence.lasts && outbound.sendSeq > outbound.sndUna && !this.tail?.pending) return null
    if (this.doubts?.hasLost) {
      if (!context.requests || this.timers.waitsForReceiver) return null
      return queue.at(queue.find(this.doubts.lostSeq))
    }
    if (outbound.sendIndex >= queue.tail || !context.requests || this.timers.waitsForReceiver) return null
    const slot = queue.at(outbound.sendIndex)
    if (outbound.sendSeq === slot.firstSeq && !this.#mayBegin(slot)) return null
    const bound = context.settings.maxPacketsInFlight
    if (slot.awaitsResponse) {
      // A READ that takes more PSNs than the bound runs alone.
      if (slot.lastSeq - outbound.sndUna >= bound && outbound.sendSeq !== outbound.sndUna) return null
      return context.settings.readRoom.admits(context.qpn, outbound.bytesToAsk(slot)) ? slot : null
    }
    return outbound.sendSeq - outbound.sndUna < bound ? slot : null
  }

  #mayBegin(slot: SendSlot): boolean {
    const { outbound } = this
    if (slot.firstSeq >= outbound.sndNxt && !this.context.begins && !slot.continues) return false
    if (slot.fence && outbound.responsesAwaited > 0) return false
    return !slot.awaitsResponse || outbound.responsesAwaited < this.context.settings.initiatorDepth
  }

  /** The next packet leaves alone, and the requester waits for its answer. */
  get isAlone(): boolean {
    return this.#silence.lasts
  }

  /** Nothing is lost, repeated or in doubt: an ACK moves `sndUna` on, and that is all. */
  get isClear(): boolean {
    const { outbound, doubts } = this
    return (
      outbound.sendSeq === outbound.sndNxt &&
      this.#silence.isClear &&
      outbound.spurious.isClear &&
      (doubts === null || doubts.isClear)
    )
  }

  /**
   * Acknowledges everything up to `seq`, except what awaits a response (IBA 9.7.6): false if there is a
   * READ or atomic on the way, which `sndUna` then points at.
   * @param clear the caller knows that `isClear` is true
   */
  acknowledgeThrough(now: Nanos, seq: number, clear = false): boolean {
    const { outbound } = this
    const queue = this.context.sendQueue
    const before = outbound.sndUna
    let whole = true
    while (!queue.isEmpty) {
      const slot = queue.at(queue.head)
      if (slot.firstSeq > seq) break
      if (slot.awaitsResponse) {
        whole = false
        break
      }
      const until = Math.min(seq, slot.lastSeq) + 1
      if (clear) this.#passClear(slot, until)
      else this.#pass(now, slot, until)
      if (outbound.sndUna <= slot.lastSeq) break
      queue.completeHead(WorkStatus.SUCCESS)
    }
    if (outbound.sndUna > before) {
      if (clear) this.#onProgress(now)
      else this.#progress(now)
    }
    return whole
  }

  /** One response of the READ or atomic at the head has come, and its bytes are in place. */
  acceptResponse(now: Nanos, slot: SendSlot): void {
    const { outbound } = this
    // It counts as awaited only if it has been asked for since the last going back.
    const awaited = outbound.sendSeq > slot.lastSeq
    this.#pass(now, slot, outbound.sndUna + 1)
    if (outbound.sndUna > slot.lastSeq) {
      if (awaited) outbound.responsesAwaited--
      this.context.sendQueue.completeHead(WorkStatus.SUCCESS)
    }
    this.#progress(now)
  }

  /** So many responses of the READ at the head have come that do not end it. */
  acceptResponses(now: Nanos, slot: SendSlot, packets: number): void {
    this.#pass(now, slot, this.outbound.sndUna + packets)
    this.#progress(now)
  }

  /** Moves `sendSeq` past packets that need not be retransmitted. */
  skipSacked(now: Nanos): void {
    const { doubts, outbound } = this
    if (doubts === null) return
    const from = outbound.sendSeq
    while (outbound.sendSeq < outbound.sndNxt && doubts.isSacked(outbound.sendSeq)) {
      const slot = this.context.sendQueue.at(outbound.sendIndex)
      if (slot.awaitsResponse) {
        outbound.awaitResponse(slot)
      } else outbound.sendSeq++
      if (outbound.sendSeq > slot.lastSeq) outbound.sendIndex++
    }
    // They count as sent, so an answer is awaited.
    if (outbound.sendSeq > from && !this.timers.waitsForReceiver) this.timers.onSent(now)
  }

  #passClear(slot: SendSlot, until: number): void {
    const { outbound, context } = this
    const bytes = bytesBetween(slot, outbound.sndUna, until, context.settings.pathMtu)
    outbound.acked.add(bytes, until - 1)
    outbound.inFlightBytes -= bytes
    outbound.sndUna = until
  }

  #pass(now: Nanos, slot: SendSlot, until: number): void {
    const { outbound } = this
    const { pathMtu: mtu } = this.context.settings
    const { selective } = this
    this.#silence.judge(now, selective, until)
    if (slot.awaitsResponse) {
      if (outbound.sendSeq > outbound.sndUna) {
        const bytes = bytesBetween(slot, outbound.sndUna, until, mtu)
        outbound.awaitLess(bytes)
      }
    } else {
      outbound.acked.addBytes(bytesBetween(slot, outbound.sndUna, until, mtu))
      if (outbound.sendSeq > outbound.sndUna) {
        outbound.inFlightBytes -= bytesBetween(slot, outbound.sndUna, Math.min(until, outbound.sendSeq), mtu)
      }
    }
    const newestSeq = selective === null ? until - 1 : selective.onPassed(now, slot, until)
    if (selective === null) this.#silence.countEarly(now, until)
    outbound.acked.addPacket(newestSeq)
    outbound.sndUna = until
    if (outbound.sendSeq < until) outbound.sendSeq = until
    if (outbound.sendSeq > slot.lastSeq && outbound.sendIndex <= this.context.sendQueue.head) {
      outbound.sendIndex = this.context.sendQueue.head + 1
    }
  }

  #progress(now: Nanos): void {
    const { outbound } = this
    if (this.#silence.endRefuted()) this.#goForward(now)
    this.#onProgress(now)
    if (outbound.spurious.concludes(outbound.sndUna)) this.context.observer.onSpurious(now)
  }

  #onProgress(now: Nanos): void {
    const { outbound } = this
    this.#retries.restore()
    this.#onNews(now, outbound.sndUna > outbound.trips.timedSeq)
    this.timers.onProgress(now, outbound.sendSeq > outbound.sndUna)
  }

  /** What was taken for lost after silence is in flight. */
  #goForward(now: Nanos): void {
    const { outbound } = this
    goForward(outbound, this.selective)
    if (outbound.spurious.refute()) this.context.observer.onSpurious(now)
  }

  /** A time before which retries are not exhausted: between two NAKs that each use up one, a timer ends. */
  exhaustedNotBefore(now: Nanos): Nanos {
    return this.#retries.exhausted ? now : this.timers.endNotBefore(now)
  }

  /** A response has come, whether it is of use or not. */
  onHeard(): void {
    this.#silence.onHeard()
  }

  /** The peer has said how many packets reached it twice, modulo 2^7: it does so with selective repeat. */
  onDuplicateCount(now: Nanos, count: number): void {
    const { outbound } = this
    if (!this.#isSelective || outbound.spurious.isTold(count)) return
    const packets = outbound.spurious.onCount(count)
    const answers = this.#takeAnswers(now, packets)
    if (outbound.spurious.onTwice(packets - answers) === 0) return
    this.#silence.onArrivedTwice(now)
    this.selective!.arrivedTwice()
    if (outbound.spurious.concludes(outbound.sndUna)) this.context.observer.onSpurious(now)
  }

  /** The peer has answered so many of the packets that it counts as arrived twice because they were questions. */
  #takeAnswers(now: Nanos, packets: number): number {
    const { trips, sndUna } = this.outbound
    const first = !trips.measured
    const answers = trips.takeAnswers(now, packets)
    if (first && trips.measured) {
      this.tail!.onAnswer(now, sndUna <= this.tail!.askedSeq)
      this.timers.probeNs = 2 * this.tail!.firstTimeoutNs
    }
    return answers
  }

  #onNews(now: Nanos, timed: boolean): void {
    const { tail, timers } = this
    const { trips, sndUna } = this.outbound
    const measured = trips.onNews(now, timed, sndUna)
    if (tail === null) return
    tail.onNews(now, measured, sndUna <= tail.askedSeq, timers.timeoutNs)
    if (measured) timers.probeNs = 2 * tail.firstTimeoutNs
  }

  /** A bitmap named packets that were not known to have arrived, or a response came out of order: a sign of life. */
  onSign(now: Nanos): void {
    this.#silence.onHeard()
    const { trips, sndUna } = this.outbound
    this.#onNews(now, trips.timedSeq >= sndUna && this.selective!.isSacked(trips.timedSeq))
    this.timers.onSign(now)
  }

  /** A NAK, received or implied, says that `sndUna` was lost: goes back there, once for each PSN. */
  repair(now: Nanos): void {
    const { outbound } = this
    if (this.#repairedSeq === outbound.sndUna || outbound.sendSeq === outbound.sndUna) return
    this.#repairedSeq = outbound.sndUna
    this.#silence.onHeard()
    this.#retry(now, false)
  }

  /** The transport timer has run out. */
  onAckTimeout(now: Nanos): void {
    this.context.counters.timeouts++
    this.#repairedSeq = NO_SEQ
    this.#retry(now, true)
  }

  /** The retransmission timer has run out: retransmits, but uses up no retry. */
  onRetransmitTimeout(now: Nanos): void {
    const { outbound } = this
    if (outbound.sendSeq === outbound.sndUna) return
    this.context.counters.timeouts++
    this.#repairedSeq = NO_SEQ
    this.#repeatAll(now, this.#retries.used, true)
  }

  /** The peer has no receive posted for `sndUna`: the requester goes back there after a wait (IBA 9.7.5.2.8). */
  onReceiverNotReady(now: Nanos, timerCode: number): void {
    this.#silence.onHeard()
    if (this.timers.waitsForReceiver) {
      // The wait may be for an earlier packet, and this one be known to have arrived.
      if (this.#isSelective) this.#rewind(false)
      return
    }
    this.context.counters.rnrNaks++
    this.#silence.onReceiverNotReady()
    if (!this.#retries.takeRnr()) {
      this.failAt(now, this.outbound.sndUna, WorkStatus.RNR_RETRY_EXC_ERR)
      return
    }
    this.#rewind(false)
    this.timers.startRnr(now, aeth.RNR_TIMER_NS[timerCode]!)
  }

  #retry(now: Nanos, byTimeout: boolean): void {
    const forget = this.#retries.used
    if (!this.#retries.take()) {
      this.failAt(now, this.outbound.sndUna, WorkStatus.RETRY_EXC_ERR)
      return
    }
    this.timers.stop()
    this.#repeatAll(now, forget, byTimeout)
  }

  /** Everything in flight is taken for lost. */
  #repeatAll(now: Nanos, forget: boolean, bySilence: boolean): void {
    const { outbound } = this
    const lostBytes = outbound.inFlightBytes
    outbound.spurious.begin(outbound.sndUna, outbound.sndNxt)
    this.#rewind(forget)
    this.#silence.onAllLost(bySilence)
    if (bySilence) outbound.trips.onSilence()
    this.context.observer.onRetransmit(now, lostBytes, bySilence, outbound.sndUna)
  }

  /**
   * @param forget the requester has gone back before without progress since, so it no longer trusts what the peer has said of
   * single packets
   */
  #rewind(forget: boolean): void {
    const { outbound } = this
    this.selective?.goBack(forget)
    this.tail?.stop()
    this.#silence.onGoingBack()
    outbound.goBack()
  }

  /** The work request with the packet `seq` has failed; those before that still wait are flushed. */
  failAt(now: Nanos, seq: number, status: WorkStatus): void {
    const queue = this.context.sendQueue
    while (!queue.isEmpty && queue.at(queue.head).workLastSeq < seq)
      queue.completeHead(WorkStatus.WR_FLUSH_ERR)
    if (!queue.isEmpty) queue.completeHead(status)
    this.context.fail(now, status)
  }

  /** No more packets and deadlines: the queue pair is in error or reset. */
  stop(): void {
    this.doubts?.stop()
    this.tail?.stop()
    this.timers.stop()
    this.outbound.stop()
  }
}
