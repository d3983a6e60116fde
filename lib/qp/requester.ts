import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import type { QpContext } from './context.js'
import { NewlyAcked } from './newly-acked.js'
import { Retries } from './retries.js'
import { RoundTrips } from './round-trips.js'
import { SelectiveRepeat } from './selective-repeat.js'
import { SendLog } from './send-log.js'
import { bytesBetween, type SendSlot } from './send-queue.js'
import { goForward, isEarly, namesUnrepeated } from './silence.js'
import { Spurious } from './spurious.js'
import { TailProbe } from './tail-probe.js'
import { RequesterTimers } from './timers.js'
import { WorkStatus } from './work-status.js'

const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * The requester's place in the stream of PSNs, and the rules that move it (IBA 9.7.1, 9.7.3, 9.7.6, 9.9.2).
 *
 *     head work request        at sendSeq
 *     v                        v
 *     | sndUna  … sent …       | sendSeq  … sent before, to be repeated … | sndNxt  … never sent …
 *
 * A work request takes its PSNs as it is posted. Going back is setting `sendSeq` to `sndUna`; both lie in the
 * work request at the head, since all before has completed. With selective repeat single packets before `sendSeq` are
 * sent again instead (selective-repeat.ts), and going back is left for silence and for NAKs. transmit-request.ts writes
 * the packets, on-acknowledge.ts, on-sack.ts and on-response.ts take the answers.
 *
 * After silence one packet goes, alone, until the peer is heard: its answer says what has arrived (RFC 5682), and a
 * full queue is not met by a whole window once more.
 */
export class Requester {
  readonly context: QpContext
  readonly timers: RequesterTimers
  readonly trips = new RoundTrips()
  log: SendLog
  readonly spurious: Spurious
  /** The oldest PSN without an answer. */
  sndUna = 0
  /** The next new PSN to be sent. Of a READ under way: the one behind its last response. */
  sndNxt = 0
  /** The next PSN to be sent, new or again. */
  sendSeq = 0
  /** Work request that `sendSeq` lies in. */
  sendIndex = 0
  /** Payload bytes from `sndUna` to before `sendSeq`, without what has arrived out of order and what was lost. */
  inFlightBytes = 0
  /** READs and atomics from `sndUna` to before `sendSeq`. */
  responsesAwaited = 0
  /** Request packets since the last one with AckReq. */
  unaskedPackets = 0
  /** Null: go-back-N. */
  selective: SelectiveRepeat | null = null
  /** Probes of selective repeat for what was sent last. */
  tail: TailProbe | null = null
  readonly acked = new NewlyAcked()
  /** Bytes of the responses awaited that have not come: this queue pair's part of the host's ReadRoom. */
  #awaitedBytes = 0
  /** What had been sent when it last went back lies before this PSN. */
  #wentBackSeq = NO_SEQ
  /** It has gone back by silence, and nothing has been heard since. */
  #silent = false
  #silenceRefuted = false
  /** It went back last by silence: a NAK would say that the peer has dropped what follows, if it is one that goes back N. */
  #wentBackBySilence = false
  /** An early answer was believed; and silence has followed one, so that none is until all that was sent before is acknowledged. */
  #believedEarly = false
  #doubtsEarly = false
  readonly #retries: Retries
  /** Where the last NAK, received or implied, made it go back to: the same NAK again changes nothing. */
  #repairedSeq = NO_SEQ

  constructor(context: QpContext) {
    const { retransmitTimeoutLeastNs, maxPacketsInFlight } = context.settings
    this.context = context
    this.timers = new RequesterTimers(this.trips, retransmitTimeoutLeastNs)
    this.log = new SendLog(maxPacketsInFlight)
    this.spurious = new Spurious(context)
    this.#retries = new Retries(context.settings)
  }

  /** Begins with that PSN. */
  start(sendPsn: number): void {
    const settings = this.context.settings
    this.sndUna = sendPsn
    this.sndNxt = sendPsn
    this.sendSeq = sendPsn
    this.context.sendQueue.nextSeq = sendPsn
    this.sendIndex = this.context.sendQueue.head
    this.inFlightBytes = 0
    this.#awaitNothing()
    this.unaskedPackets = 0
    this.#repairedSeq = NO_SEQ
    this.#silent = false
    this.log = new SendLog(settings.maxPacketsInFlight)
    this.timers.stop()
    this.trips.stop()
    this.selective?.stop()
    this.selective = settings.selectiveRepeat ? new SelectiveRepeat(this) : null
    this.tail = settings.selectiveRepeat ? new TailProbe(this.trips, settings.probeTimeoutLeastNs) : null
    this.settle()
  }

  /** Takes over settings that may have changed. */
  settle(): void {
    const settings = this.context.settings
    this.timers.setExponent(settings.ackTimeoutExponent)
    this.#retries.restore()
  }

  /** The PSN that `nextSlot` speaks of: a lost one, or `sendSeq`. */
  get nextSeq(): number {
    const { selective } = this
    return selective?.hasLost ? selective.lostSeq : this.sendSeq
  }

  /** The work request whose packet goes next, or null when none may. */
  nextSlot(): SendSlot | null {
    const context = this.context
    const queue = context.sendQueue
    if (this.#silent && this.sendSeq > this.sndUna && !this.tail?.pending) return null
    if (this.selective?.hasLost) {
      if (!context.requests || this.timers.waitsForReceiver) return null
      return queue.at(queue.find(this.selective.lostSeq))
    }
    if (this.sendIndex >= queue.tail || !context.requests || this.timers.waitsForReceiver) return null
    const slot = queue.at(this.sendIndex)
    if (this.sendSeq === slot.firstSeq && !this.#mayBegin(slot)) return null
    const bound = context.settings.maxPacketsInFlight
    if (slot.awaitsResponse) {
      // A READ that takes more PSNs than the bound runs alone.
      if (slot.lastSeq - this.sndUna >= bound && this.sendSeq !== this.sndUna) return null
      return context.settings.readRoom.admits(context.qpn, this.#bytesToAsk(slot)) ? slot : null
    }
    return this.sendSeq - this.sndUna < bound ? slot : null
  }

  /** Bytes that a READ at `sendSeq` asks for: one that is repeated from its middle asks for the rest. */
  #bytesToAsk(slot: SendSlot): number {
    return bytesBetween(slot, this.sendSeq, slot.lastSeq + 1, this.context.settings.pathMtu)
  }

  /** The READ or atomic at `sendSeq` has been asked for. */
  awaitResponse(slot: SendSlot): void {
    const { qpn, settings } = this.context
    const bytes = this.#bytesToAsk(slot)
    settings.readRoom.take(qpn, bytes)
    this.#awaitedBytes += bytes
    this.responsesAwaited++
    this.sendSeq = slot.lastSeq + 1
  }

  /** Forgets what has been asked for: it will be asked for again, or not at all. */
  #awaitNothing(): void {
    this.context.settings.readRoom.give(this.#awaitedBytes)
    this.#awaitedBytes = 0
    this.responsesAwaited = 0
  }

  #mayBegin(slot: SendSlot): boolean {
    if (slot.firstSeq >= this.sndNxt && !this.context.begins && !slot.continues) return false
    if (slot.fence && this.responsesAwaited > 0) return false
    return !slot.awaitsResponse || this.responsesAwaited < this.context.settings.initiatorDepth
  }

  /** The packet that goes next goes alone: its answer is waited for. */
  get isAlone(): boolean {
    return this.#silent
  }

  /**
   * Acknowledges everything up to `seq`, except what awaits a response (IBA 9.7.6): false if there is a
   * READ or atomic on the way, which `sndUna` then points at.
   */
  acknowledgeThrough(now: Nanos, seq: number): boolean {
    const queue = this.context.sendQueue
    const before = this.sndUna
    let whole = true
    while (!queue.isEmpty) {
      const slot = queue.at(queue.head)
      if (slot.firstSeq > seq) break
      if (slot.awaitsResponse) {
        whole = false
        break
      }
      this.#pass(now, slot, Math.min(seq, slot.lastSeq) + 1)
      if (this.sndUna <= slot.lastSeq) break
      queue.completeHead(WorkStatus.SUCCESS)
    }
    if (this.sndUna > before) this.#progress(now)
    return whole
  }

  /** One response of the READ or atomic at the head has come, and its bytes are in place. */
  acceptResponse(now: Nanos, slot: SendSlot): void {
    // It counts as awaited only if it has been asked for since the last going back.
    const awaited = this.sendSeq > slot.lastSeq
    this.#pass(now, slot, this.sndUna + 1)
    if (this.sndUna > slot.lastSeq) {
      if (awaited) this.responsesAwaited--
      this.context.sendQueue.completeHead(WorkStatus.SUCCESS)
    }
    this.#progress(now)
  }

  /** Moves `sendSeq` past packets that need not be sent again. */
  skipSacked(now: Nanos): void {
    const { selective } = this
    if (selective === null) return
    const from = this.sendSeq
    while (this.sendSeq < this.sndNxt && selective.isSacked(this.sendSeq)) {
      const slot = this.context.sendQueue.at(this.sendIndex)
      if (slot.awaitsResponse) {
        this.awaitResponse(slot)
      } else this.sendSeq++
      if (this.sendSeq > slot.lastSeq) this.sendIndex++
    }
    // They count as sent, so an answer is awaited.
    if (this.sendSeq > from && !this.timers.waitsForReceiver) this.timers.onSent(now)
  }

  #pass(now: Nanos, slot: SendSlot, until: number): void {
    const { pathMtu: mtu, readRoom } = this.context.settings
    if (this.#silent) this.#judgeSilence(now, until)
    if (slot.awaitsResponse) {
      if (this.sendSeq > this.sndUna) {
        const bytes = bytesBetween(slot, this.sndUna, until, mtu)
        readRoom.give(bytes)
        this.#awaitedBytes -= bytes
      }
    } else {
      this.acked.addBytes(bytesBetween(slot, this.sndUna, until, mtu))
      if (this.sendSeq > this.sndUna) {
        this.inFlightBytes -= bytesBetween(slot, this.sndUna, Math.min(until, this.sendSeq), mtu)
      }
    }
    const newestSeq = this.selective === null ? until - 1 : this.selective.onPassed(now, slot, until)
    const judges = this.selective === null && this.#wentBackBySilence
    if (judges && this.sndUna < this.#wentBackSeq) this.#judgeRepeats(now, until)
    this.acked.addPacket(newestSeq)
    this.sndUna = until
    if (this.sendSeq < until) this.sendSeq = until
    if (this.sendSeq > slot.lastSeq && this.sendIndex <= this.context.sendQueue.head) {
      this.sendIndex = this.context.sendQueue.head + 1
    }
  }

  /** An answer that comes sooner than any round trip is one to the packet as it was sent first. */
  #judgeRepeats(now: Nanos, until: number): void {
    for (let seq = this.sndUna; seq < until; seq++) if (isEarly(this, now, seq)) this.spurious.onEarly()
  }

  /** The packets before `until` are acknowledged after silence: had they been on their way? */
  #judgeSilence(now: Nanos, until: number): void {
    if (namesUnrepeated(this, until)) this.#silenceRefuted = true
    else if (!this.#doubtsEarly && this.sendSeq > this.sndUna && isEarly(this, now, this.sndUna)) {
      this.#silenceRefuted = true
      this.#believedEarly = true
    }
  }

  #refuteSilence(now: Nanos): void {
    this.#silenceRefuted = false
    goForward(this)
    if (this.spurious.refute()) this.context.observer.onSpurious(now)
  }

  #progress(now: Nanos): void {
    this.#silent = false
    if (this.sndUna >= this.#wentBackSeq) {
      this.#believedEarly = false
      this.#doubtsEarly = false
    }
    if (this.#silenceRefuted) this.#refuteSilence(now)
    this.#retries.restore()
    this.#onNews(now, this.sndUna > this.trips.timedSeq)
    this.timers.onProgress(now, this.sendSeq > this.sndUna)
    if (this.spurious.concludes(this.sndUna)) this.context.observer.onSpurious(now)
  }

  /** A response has come, whether it is of use or not. */
  onHeard(): void {
    this.#silent = false
  }

  /** The peer has told how many packets reached it twice, modulo 2^7: it does so with selective repeat. */
  onDuplicateCount(now: Nanos, count: number): void {
    if (this.selective === null || this.spurious.onCount(count) === 0) return
    this.selective.arrivedTwice()
    if (this.spurious.concludes(this.sndUna)) this.context.observer.onSpurious(now)
  }

  #onNews(now: Nanos, timed: boolean): void {
    const { tail, trips, sndUna, timers } = this
    const measured = trips.onNews(now, timed)
    if (tail === null) return
    tail.onNews(now, measured, sndUna <= tail.askedSeq, timers.timeoutNs)
    if (measured) timers.probeNs = 2 * tail.firstTimeoutNs
  }

  /** A bitmap named packets that were not known to have arrived, or a response came out of order: a sign of life. */
  onSign(now: Nanos): void {
    this.#silent = false
    const { trips, sndUna } = this
    this.#onNews(now, trips.timedSeq >= sndUna && this.selective!.isSacked(trips.timedSeq))
    this.timers.onSign(now)
  }

  /** A NAK, received or implied, says that `sndUna` was lost: goes back there, once for each PSN. */
  repair(now: Nanos): void {
    if (this.#repairedSeq === this.sndUna || this.sendSeq === this.sndUna) return
    this.#repairedSeq = this.sndUna
    this.#silent = false
    this.#retry(now, false)
  }

  /** The transport timer has run out. */
  onAckTimeout(now: Nanos): void {
    this.context.counters.timeouts++
    this.#repairedSeq = NO_SEQ
    this.#retry(now, true)
  }

  /** The retransmission timer has run out: sends again, but uses up no retry. */
  onRetransmitTimeout(now: Nanos): void {
    if (this.sendSeq === this.sndUna) return
    this.context.counters.timeouts++
    this.#repairedSeq = NO_SEQ
    this.#repeatAll(now, this.#retries.used, true)
  }

  /** The peer has no receive posted for `sndUna`: again from there, after a wait (IBA 9.7.5.2.8). */
  onReceiverNotReady(now: Nanos, timerCode: number): void {
    this.#silent = false
    if (this.timers.waitsForReceiver) {
      // The wait may be for an earlier packet, and this one be known to have arrived.
      if (this.selective !== null) this.#rewind(false)
      return
    }
    this.context.counters.rnrNaks++
    this.#wentBackBySilence = false
    if (!this.#retries.takeRnr()) {
      this.failAt(now, this.sndUna, WorkStatus.RNR_RETRY_EXC_ERR)
      return
    }
    this.#rewind(false)
    this.timers.startRnr(now, aeth.RNR_TIMER_NS[timerCode]!)
  }

  #retry(now: Nanos, byTimeout: boolean): void {
    const forget = this.#retries.used
    if (!this.#retries.take()) {
      this.failAt(now, this.sndUna, WorkStatus.RETRY_EXC_ERR)
      return
    }
    this.timers.stop()
    this.#repeatAll(now, forget, byTimeout)
  }

  /** Everything in flight is taken for lost. */
  #repeatAll(now: Nanos, forget: boolean, bySilence: boolean): void {
    const lostBytes = this.inFlightBytes
    // Silence once more: what was taken to be on its way was lost, and the early answer was one to the repeat.
    if (bySilence && this.#believedEarly) this.#doubtsEarly = true
    this.#believedEarly = false
    this.spurious.begin(this.sndUna, this.sndNxt)
    this.#rewind(forget)
    this.#silent = bySilence
    this.#wentBackBySilence = bySilence
    this.context.observer.onRetransmit(now, lostBytes, bySilence, this.sndUna)
  }

  /**
   * @param forget it went back before without progress since: what the peer has said of single packets is no longer
   * trusted
   */
  #rewind(forget: boolean): void {
    this.selective?.goBack(forget)
    this.tail?.stop()
    this.trips.stop()
    this.#wentBackSeq = this.sndNxt
    this.sendSeq = this.sndUna
    this.sendIndex = this.context.sendQueue.head
    this.inFlightBytes = 0
    this.#awaitNothing()
    this.unaskedPackets = 0
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
    this.selective?.stop()
    this.tail?.stop()
    this.trips.stop()
    this.timers.stop()
    this.sendIndex = this.context.sendQueue.tail
    this.inFlightBytes = 0
    this.#awaitNothing()
    this.context.settings.readRoom.leave(this.context.qpn)
  }
}
