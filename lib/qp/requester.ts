import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import type { QpContext } from './context.js'
import { unwrapPsn } from './psn.js'
import { SelectiveRepeat } from './selective-repeat.js'
import { bytesBetween, type SendSlot } from './send-queue.js'
import { lastUnanswered, TailProbe } from './tail-probe.js'
import { RequesterTimers } from './timers.js'
import { WorkOpcode } from './work.js'
import { WorkStatus } from './work-status.js'

const NO_SEQ = Number.NEGATIVE_INFINITY
const INFINITE_RNR_RETRIES = 7

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
 */
export class Requester {
  readonly context: QpContext
  readonly timers = new RequesterTimers()
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
  /** Of selective repeat: probes for what was sent last. */
  tail: TailProbe | null = null
  /** Bytes of the responses awaited that have not come: this queue pair's part of the host's ReadRoom. */
  #awaitedBytes = 0
  #newlyAckedBytes = 0
  #newestAckedSeq = -1
  #retriesLeft = 0
  #rnrRetriesLeft = 0
  /** Where the last NAK, received or implied, made it go back to: the same NAK again changes nothing. */
  #repairedSeq = NO_SEQ
  /** The peer's MSN, unwrapped, and the SSN up to which its credits reach (IBA 9.7.7.2). */
  #msn = 0
  #limitSequence = 0
  #limited = false

  constructor(context: QpContext) {
    this.context = context
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
    this.#msn = 0
    this.#limitSequence = 0
    this.#limited = settings.endToEndCredits
    this.timers.stop()
    this.selective?.stop()
    this.selective = settings.selectiveRepeat ? new SelectiveRepeat(this) : null
    this.tail = settings.selectiveRepeat ? new TailProbe(settings.probeTimeoutLeastNs) : null
    this.settle()
  }

  /** Takes over settings that may have changed. */
  settle(): void {
    const settings = this.context.settings
    this.timers.setExponent(settings.ackTimeoutExponent)
    this.#retriesLeft = settings.retryCount
    this.#rnrRetriesLeft = settings.rnrRetry
    this.#limited &&= settings.endToEndCredits
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
    if (this.selective?.hasLost) {
      if (!context.requests || this.timers.waitsForReceiver) return null
      return queue.at(queue.find(this.selective.lostSeq))
    }
    if (this.sendIndex >= queue.tail || !context.requests || this.timers.waitsForReceiver) return null
    const slot = queue.at(this.sendIndex)
    if (this.sendSeq === slot.firstSeq && !this.#mayBegin(slot)) return null
    if (this.#limited && slot.takesCredit && this.#waitsForCredit(slot)) return null
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

  /**
   * Beyond the limit sequence number, one more message may begin: a SEND with its first packet alone, a WRITE
   * with all of it (IBA 9.7.7.2).
   */
  #waitsForCredit(slot: SendSlot): boolean {
    const beyond = slot.ssn - this.#limitSequence
    if (beyond <= 0) return false
    return beyond > 1 || (this.sendSeq > slot.firstSeq && slot.opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM)
  }

  /** True if credits hold the message back behind its next packet: that one must ask for an ACK. */
  isLastCredit(slot: SendSlot): boolean {
    return this.#limited && slot.takesCredit && slot.ssn > this.#limitSequence
  }

  /** Reads MSN and credits of an ACK (IBA 9.7.7.2); old ones tell nothing. */
  onCredits(messageSequence: number, code: number): void {
    if (!this.#limited) return
    if (code === aeth.CREDITS_UNLIMITED) {
      this.#limited = false
      return
    }
    const msn = unwrapPsn(messageSequence, this.#msn)
    if (msn > this.#msn) this.#msn = msn
    const limit = msn + aeth.CREDITS[code]!
    if (limit > this.#limitSequence) this.#limitSequence = limit
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
      this.#pass(slot, Math.min(seq, slot.lastSeq) + 1)
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
    this.#pass(slot, this.sndUna + 1)
    if (this.sndUna > slot.lastSeq) {
      if (awaited) this.responsesAwaited--
      this.context.sendQueue.completeHead(WorkStatus.SUCCESS)
    }
    this.#progress(now)
  }

  /** The packet has arrived, ahead of some before it. */
  acknowledgedEarly(seq: number, bytes: number): void {
    this.#newlyAckedBytes += bytes
    if (seq > this.#newestAckedSeq) this.#newestAckedSeq = seq
  }

  /** Some of what `#pass` is about to count has been counted already: as acknowledged, or as no longer in flight. */
  countedEarly(ackedBytes: number, outBytes: number): void {
    this.#newlyAckedBytes -= ackedBytes
    this.inFlightBytes += outBytes
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

  /** The newest PSN acknowledged since the last call that was not known to have arrived, or -1. */
  takeNewestAckedSeq(): number {
    const seq = this.#newestAckedSeq
    this.#newestAckedSeq = -1
    return seq
  }

  /** Payload bytes acknowledged since the last call. */
  takeNewlyAckedBytes(): number {
    const bytes = this.#newlyAckedBytes
    this.#newlyAckedBytes = 0
    return bytes
  }

  #pass(slot: SendSlot, until: number): void {
    const { pathMtu: mtu, readRoom } = this.context.settings
    if (slot.awaitsResponse) {
      if (this.sendSeq > this.sndUna) {
        const bytes = bytesBetween(slot, this.sndUna, until, mtu)
        readRoom.give(bytes)
        this.#awaitedBytes -= bytes
      }
    } else {
      this.#newlyAckedBytes += bytesBetween(slot, this.sndUna, until, mtu)
      if (this.sendSeq > this.sndUna) {
        this.inFlightBytes -= bytesBetween(slot, this.sndUna, Math.min(until, this.sendSeq), mtu)
      }
    }
    const newestSeq = this.selective === null ? until - 1 : this.selective.onPassed(slot, until)
    if (newestSeq > this.#newestAckedSeq) this.#newestAckedSeq = newestSeq
    this.sndUna = until
    if (this.sendSeq < until) this.sendSeq = until
    if (this.sendSeq > slot.lastSeq && this.sendIndex <= this.context.sendQueue.head) {
      this.sendIndex = this.context.sendQueue.head + 1
    }
  }

  #progress(now: Nanos): void {
    this.#retriesLeft = this.context.settings.retryCount
    this.#rnrRetriesLeft = this.context.settings.rnrRetry
    this.timers.onProgress(now, this.sendSeq > this.sndUna)
    const { tail, sndUna } = this
    tail?.onNews(now, sndUna > tail.timedSeq, sndUna <= tail.askedSeq, this.timers.timeoutNs)
  }

  /** A bitmap named packets that were not known to have arrived, or a response came out of order: a sign of life. */
  onSign(now: Nanos): void {
    this.timers.onSign(now)
    const { tail, sndUna } = this
    if (tail === null) return
    const timed = tail.timedSeq >= sndUna && this.selective!.isSacked(tail.timedSeq)
    tail.onNews(now, timed, sndUna <= tail.askedSeq, this.timers.timeoutNs)
  }

  /** The probe timeout has passed: the last packet goes again, unless something else goes again anyway. */
  onProbeTimeout(): void {
    const selective = this.selective!
    if (!selective.hasLost) {
      // What came in order without a loss has not been told to it: it may be the first part of a READ.
      selective.acknowledged(this.sndUna - 1)
      const seq = lastUnanswered(this, selective)
      if (seq < 0) return
      const queue = this.context.sendQueue
      selective.repeat(queue.at(queue.find(seq)), seq)
      this.context.counters.tailProbes++
    }
    this.tail!.pending = true
  }

  /** A NAK, received or implied, says that `sndUna` was lost: goes back there, once for each PSN. */
  repair(now: Nanos): void {
    if (this.#repairedSeq === this.sndUna || this.sendSeq === this.sndUna) return
    this.#repairedSeq = this.sndUna
    this.#retry(now, false)
  }

  /** The transport timer has run out. */
  onAckTimeout(now: Nanos): void {
    this.context.counters.timeouts++
    this.#repairedSeq = NO_SEQ
    this.#retry(now, true)
  }

  /** The peer has no receive posted for `sndUna`: again from there, after a wait (IBA 9.7.5.2.8). */
  onReceiverNotReady(now: Nanos, timerCode: number): void {
    if (this.timers.waitsForReceiver) {
      // The wait may be for an earlier packet, and this one be known to have arrived.
      if (this.selective !== null) this.#rewind(false)
      return
    }
    this.context.counters.rnrNaks++
    if (this.context.settings.rnrRetry !== INFINITE_RNR_RETRIES) {
      if (this.#rnrRetriesLeft === 0) {
        this.failAt(now, this.sndUna, WorkStatus.RNR_RETRY_EXC_ERR)
        return
      }
      this.#rnrRetriesLeft--
    }
    // It has answered: the other count is of silence and gaps.
    this.#retriesLeft = this.context.settings.retryCount
    this.#goBack(false)
    this.timers.startRnr(now, aeth.RNR_TIMER_NS[timerCode]!)
  }

  #retry(now: Nanos, byTimeout: boolean): void {
    if (this.#retriesLeft === 0) {
      this.failAt(now, this.sndUna, WorkStatus.RETRY_EXC_ERR)
      return
    }
    const forget = this.#retriesLeft < this.context.settings.retryCount
    this.#retriesLeft--
    const lostBytes = this.inFlightBytes
    this.#goBack(forget)
    this.context.observer.onRetransmit(now, lostBytes, byTimeout, this.sndUna)
  }

  #goBack(forget: boolean): void {
    this.#rewind(forget)
    this.timers.stop()
  }

  /**
   * @param forget it went back before without progress since: what the peer has said of single packets is no longer
   * trusted
   */
  #rewind(forget: boolean): void {
    this.selective?.goBack(forget)
    this.tail?.stop()
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
    this.timers.stop()
    this.sendIndex = this.context.sendQueue.tail
    this.inFlightBytes = 0
    this.#awaitNothing()
    this.context.settings.readRoom.leave(this.context.qpn)
  }
}
