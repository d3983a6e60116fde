import type { Frame } from '../../frame/frame.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import { ReorderBuffer } from '../queues/reorder-buffer.js'
import { bytesBetween, type SendSlot } from '../queues/send-queue.js'
import { LateOriginals } from './late-originals.js'
import { LostPackets } from './lost-packets.js'
import type { Outbound } from './outbound.js'
import { Rack } from './rack.js'
import { Repeats } from './repeats.js'
import { ResponseEvidence } from './response-evidence.js'
import { Scoreboard } from './scoreboard.js'

const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * The requester's part of selective repeat: which packets the peer has although an earlier one is missing, which are
 * taken for lost, and which of those have been retransmitted. Packets of SENDs and WRITEs, and requests, are lost on the
 * way there, and SACKs show that; responses of READs and atomics are lost on the way back, and those that came out
 * of order are kept here until their turn.
 *
 * RACK (rack.ts) finds lost requests, whether they were sent once or again. It looks at packets sent once in the order of
 * their PSNs, which is that of their departure, and at retransmitted ones in the order in which they left again.
 * The order of the responses that come shows which are lost (response-evidence.ts).
 */
export class SelectiveRepeat {
  /** Responses that came out of order. */
  readonly kept: ReorderBuffer
  readonly #outbound: Outbound
  readonly #board: Scoreboard
  readonly #rack: Rack
  readonly #mtu: number
  /** Packets that have to arrive out of order to show without a doubt that one is lost. */
  readonly #certainPackets: number
  /**
   * The highest PSN that the peer has acknowledged in order, even if responses of READs and atomics are missing
   * before it.
   */
  #executedSeq = NO_SEQ
  /** Requests before this PSN that were sent once need not be looked at. */
  #judgedSeq = NO_SEQ
  /** Requests retransmitted, and responses requested again. */
  readonly #repeats: Repeats
  readonly #responseRepeats: Repeats
  readonly #evidence: ResponseEvidence
  /** The packet that a tail probe repeats, although others that were sent behind it may be in flight. */
  #doubtfulSeq = NO_SEQ
  /** The packet that a tail probe repeats. */
  #probedSeq = NO_SEQ
  /** A recovery is under way until everything before this PSN is answered. */
  #recoverySeq = NO_SEQ
  /** When the next request counts as lost, unless its arrival is reported before. */
  deadlineNs: Nanos = NEVER
  /** What has not been reported to the observer. */
  readonly lost = new LostPackets()
  readonly #originals = new LateOriginals()

  constructor(outbound: Outbound) {
    const { pathMtu, maxPacketsInFlight, reorderPool, reorderPackets, reorderTolerance } =
      outbound.context.settings
    this.#outbound = outbound
    this.#mtu = pathMtu
    this.#certainPackets = reorderTolerance
    this.#evidence = new ResponseEvidence(reorderTolerance)
    this.#rack = new Rack(outbound.trips)
    this.#board = new Scoreboard(maxPacketsInFlight)
    this.#repeats = new Repeats(maxPacketsInFlight)
    this.#responseRepeats = new Repeats(maxPacketsInFlight)
    this.kept = new ReorderBuffer(reorderPool, reorderPackets, maxPacketsInFlight)
  }

  /** True while anything is known of single packets. */
  get active(): boolean {
    return this.#board.top > this.#outbound.sndUna
  }

  /** Nothing is known of single packets, and nothing waits to be judged. */
  get isClear(): boolean {
    return this.#board.top <= this.#outbound.sndUna && this.#originals.isClear
  }

  /** True if there are lost packets to be retransmitted. */
  get hasLost(): boolean {
    return this.#board.lostCount > 0
  }

  /** The lowest PSN to be retransmitted; there must be one. */
  get lostSeq(): number {
    return this.#board.firstLost()
  }

  /** True if the peer has that request, or packet of a SEND or WRITE; from `sndUna` on. */
  isSacked(seq: number): boolean {
    return this.#board.isSacked(seq)
  }

  /** True if the peer has said that it has the packet, even if this end no longer believes it. */
  isTold(seq: number): boolean {
    return this.#board.isTold(seq)
  }

  // ---- What the peer says

  /** It has carried out everything up to `seq`, and sent the responses. */
  acknowledged(now: Nanos, seq: number): void {
    const outbound = this.#outbound
    const from = Math.max(this.#executedSeq + 1, outbound.sndUna)
    if (seq > this.#executedSeq) this.#executedSeq = seq
    this.#evidence.onResponse(seq)
    if (from > seq) return
    // Behind a READ or atomic whose response is missing.
    const queue = outbound.context.sendQueue
    let index = queue.find(from)
    for (let at = from; at <= seq; ) {
      const slot = queue.at(index++)
      if (slot.awaitsResponse) {
        // From now on its marks are those of its responses.
        if (at === slot.firstSeq) {
          this.#arrived(now, at)
          this.#board.unlose(at)
          this.#board.unsack(at)
        }
        at = slot.lastSeq + 1
      } else for (const end = Math.min(seq, slot.lastSeq); at <= end; at++) this.#sack(now, slot, at)
    }
  }

  /**
   * The peer keeps the request `seq`, which is beyond the oldest unanswered one and before `sndNxt`. True if that is
   * news.
   */
  sacked(now: Nanos, seq: number): boolean {
    // The oldest unanswered packet has to be retransmitted if the peer was not ready for it, even if the peer keeps it.
    if (seq <= Math.max(this.#executedSeq, this.#outbound.sndUna) || this.#board.isSacked(seq)) return false
    const queue = this.#outbound.context.sendQueue
    const slot = queue.at(queue.find(seq))
    // A READ is one request, at its first PSN.
    if (slot.awaitsResponse && seq !== slot.firstSeq) return false
    this.#sack(now, slot, seq)
    return true
  }

  #sack(now: Nanos, slot: SendSlot, seq: number): void {
    if (this.#board.isSacked(seq)) return
    const outbound = this.#outbound
    const bytes = this.#bytesOf(slot, seq)
    if (seq < outbound.sendSeq && !this.#board.isLost(seq)) outbound.inFlightBytes -= bytes
    this.#arrived(now, seq)
    outbound.acked.addPacket(seq)
    if (!this.#board.isTold(seq)) outbound.acked.addBytes(bytes)
    this.#board.sack(seq, outbound.sndUna)
  }

  /** A request is known to have arrived. */
  #arrived(now: Nanos, seq: number): void {
    const { log } = this.#outbound
    if (!log.has(seq)) return
    const number = log.numberOf(seq)
    const repeated = log.wasRepeated(seq)
    if (!repeated) {
      this.#originals.onArrived(number)
      if (this.#board.isLost(seq)) this.#originals.onFound()
    } else if (this.#rack.isSoon(now, number, log.sentNs(seq))) this.#originals.onSoon(number)
    else if (number !== this.#rack.doubtfulNumber) this.#originals.onArrived(number)
    this.#rack.onArrived(now, number, log.sentNs(seq), repeated)
  }

  /** A response has come, in order or not. */
  answered(now: Nanos, seq: number): void {
    if (this.#responseRepeats.isEmpty) return
    const { log, trips, context } = this.#outbound
    const queue = context.sendQueue
    const isRepeat = this.#board.isResent(seq)
    const asked = isRepeat ? seq : queue.at(queue.find(seq)).firstSeq
    if (!log.has(asked)) return
    // It was in flight when it was requested again (RFC 3522), or only the first response of its READ was.
    if (isRepeat ? now - log.sentNs(asked) < trips.floorNs : log.wasRepeated(asked)) return
    this.#evidence.answeredNumber = Math.max(this.#evidence.answeredNumber, log.numberOf(asked))
  }

  /** A response has come that had come before: it was requested again too early. */
  answeredTwice(): void {
    this.#evidence.onTwice(this.#board.span)
  }

  /** Requests that were retransmitted have arrived twice. */
  arrivedTwice(): void {
    this.#rack.onDuplicates(this.#outbound.context.transmissions)
  }

  /**
   * A response came out of order: kept until its turn. False if there is no room, if it is there already, or if nothing
   * of that PSN awaits one.
   */
  keep(seq: number, frame: Frame): boolean {
    const { kept } = this
    const queue = this.#outbound.context.sendQueue
    if (!queue.at(queue.find(seq)).awaitsResponse) return false
    this.#evidence.onResponse(seq)
    if (seq - this.#outbound.sndUna >= kept.span || kept.has(seq) || !kept.put(seq, frame)) return false
    this.#board.unlose(seq)
    return true
  }

  /** The acknowledgement has been taken in. True if it shows that nothing was lost of what this recovery took for lost. */
  refutesRecovery(): boolean {
    const { spurious } = this.#outbound
    this.#originals.judge(spurious.recoveryNumber)
    spurious.onOriginals(this.#originals)
    if (this.hasLost || !spurious.takeRefuted()) return false
    this.#recoverySeq = NO_SEQ
    return true
  }

  // ---- What is lost

  /** Finds out what is lost, from all that the peer has reported. */
  detect(now: Nanos): void {
    this.deadlineNs = NEVER
    if (this.#outbound.context.sendQueue.isEmpty) return
    const { sndUna } = this.#outbound
    const certain = this.#board.sackedCount >= this.#certainPackets || sndUna < this.#recoverySeq
    const windowNs = this.#rack.windowNs(certain)
    this.#judgeRequests(now, windowNs)
    this.#judgeRepeats(now, windowNs)
    this.#judgeResponses()
    this.#judgeResponseRepeats()
  }

  /** Requests sent once, in the order of their PSNs. */
  #judgeRequests(now: Nanos, windowNs: Nanos): void {
    const { sndUna, sendSeq, context } = this.#outbound
    const queue = context.sendQueue
    let seq = Math.max(this.#judgedSeq, sndUna, this.#executedSeq + 1)
    if (seq >= sendSeq) return
    for (let index = queue.find(seq); seq < sendSeq; index++) {
      const slot = queue.at(index)
      if (slot.awaitsResponse) {
        // A READ is one request, at its first PSN.
        if (seq === slot.firstSeq && !this.#judgeOnce(now, slot, seq, windowNs)) break
        seq = slot.lastSeq + 1
      } else {
        const end = Math.min(sendSeq, slot.lastSeq + 1)
        while (seq < end && this.#judgeOnce(now, slot, seq, windowNs)) seq++
        if (seq < end) break
      }
    }
    this.#judgedSeq = seq
  }

  /** False if nothing can be said yet of that packet, and of those behind it. */
  #judgeOnce(now: Nanos, slot: SendSlot, seq: number, windowNs: Nanos): boolean {
    const board = this.#board
    if (board.isSacked(seq) || board.isLost(seq) || board.isResent(seq)) return true
    return this.#judge(now, slot, seq, windowNs)
  }

  #judge(now: Nanos, slot: SendSlot, seq: number, windowNs: Nanos): boolean {
    const { log } = this.#outbound
    if (!log.has(seq)) return true
    if (log.numberOf(seq) >= this.#rack.newestNumber) return false
    const lostNs = this.#rack.lostNs(log.sentNs(seq), windowNs)
    if (now < lostNs) {
      this.deadlineNs = Math.min(this.deadlineNs, lostNs)
      return false
    }
    this.#lose(slot, seq)
    return true
  }

  /** Retransmitted requests, in the order in which they left. */
  #judgeRepeats(now: Nanos, windowNs: Nanos): void {
    const queue = this.#outbound.context.sendQueue
    for (; !this.#repeats.isEmpty; this.#repeats.shift()) {
      const { firstSeq: seq, firstNumber: number } = this.#repeats
      if (!this.#isUnderWay(seq, number)) continue
      if (!this.#judge(now, queue.at(queue.find(seq)), seq, windowNs)) return
    }
  }

  /** True if that repeat is the packet's latest, and nothing is known of it. */
  #isUnderWay(seq: number, number: number): boolean {
    const { log, sndUna } = this.#outbound
    const board = this.#board
    return seq >= sndUna && board.isResent(seq) && !board.isSacked(seq) && log.numberOf(seq) === number
  }

  #judgeResponses(): void {
    const { sndUna, sndNxt, context } = this.#outbound
    const from = this.#evidence.from(sndUna)
    const until = this.#evidence.until(sndNxt, sndUna + this.#board.span)
    const queue = context.sendQueue
    if (from >= until || !queue.at(queue.head).awaitsResponse) return
    let index = queue.find(from)
    for (let seq = from; seq < until && seq <= this.#executedSeq; ) {
      const slot = queue.at(index++)
      const last = Math.min(until - 1, slot.lastSeq)
      if (slot.awaitsResponse) for (; seq <= last; seq++) this.#loseOnce(slot, seq)
      seq = slot.lastSeq + 1
    }
  }

  #loseOnce(slot: SendSlot, seq: number): void {
    const board = this.#board
    if (!board.isSacked(seq) && !board.isLost(seq) && !board.isResent(seq)) this.#lose(slot, seq)
  }

  #judgeResponseRepeats(): void {
    const repeats = this.#responseRepeats
    const queue = this.#outbound.context.sendQueue
    for (; !repeats.isEmpty; repeats.shift()) {
      const { firstSeq: seq, firstNumber: number } = repeats
      if (!this.#isUnderWay(seq, number)) continue
      if (number >= this.#evidence.answeredNumber) return
      this.#lose(queue.at(queue.find(seq)), seq)
    }
  }

  #lose(slot: SendSlot, seq: number): void {
    if (slot.awaitsResponse && this.kept.has(seq)) return
    const { log, sndUna, sndNxt } = this.#outbound
    if (sndUna >= this.#recoverySeq) {
      this.#recoverySeq = sndNxt
      this.#rack.onRecovery()
      this.#outbound.spurious.begin(sndUna, sndNxt)
    }
    this.lost.add(seq, this.#bytesOf(slot, seq), log.numberOf(seq))
    this.repeat(slot, seq)
  }

  /** A tail probe is to repeat that packet, which may be on its way. @param isFirst others that were sent behind it may be as well */
  probe(slot: SendSlot, seq: number, isFirst: boolean): void {
    if (isFirst) this.#doubtfulSeq = seq
    this.#probedSeq = seq
    this.repeat(slot, seq)
  }

  /**
   * A packet that was sent and is not known to have arrived is to be retransmitted; until then it is not in flight. The
   * observer does not learn of it.
   */
  repeat(slot: SendSlot, seq: number): void {
    if (seq < this.#outbound.sendSeq) this.#outbound.inFlightBytes -= this.#bytesOf(slot, seq)
    this.#board.lose(seq, this.#outbound.sndUna)
  }

  // ---- What is retransmitted, and passed over

  /**
   * The packet `seq` is being retransmitted, because it was lost or after going back. For a READ it returns how many PSNs are
   * requested again: the run of lost responses if its request has arrived, else all.
   */
  resend(now: Nanos, slot: SendSlot, seq: number): number {
    const { sndUna, log, context } = this.#outbound
    // The number that this transmission is about to get.
    const number = context.transmissions
    const isResponse = slot.awaitsResponse && slot.firstSeq <= this.#executedSeq
    if (!isResponse) {
      if (seq === this.#doubtfulSeq) this.#rack.doubtfulNumber = number
      this.#doubtfulSeq = NO_SEQ
      if (seq === this.#probedSeq) this.#originals.onSilence(number)
      this.#probedSeq = NO_SEQ
      this.#board.resend(seq, sndUna)
      this.#repeats.push(seq, number)
      return slot.lastSeq + 1 - seq
    }
    let next = seq
    for (; next <= slot.lastSeq && this.#board.isLost(next); next++) {
      this.#board.resend(next, sndUna)
      this.#responseRepeats.push(next, number)
      log.record(next, now, number, true, sndUna)
    }
    return next - seq
  }

  /**
   * `sndUna` is about to move on to `until` within the slot: puts right what was counted early. Returns the
   * newest of these PSNs that was not known to have arrived, or -1.
   */
  onPassed(now: Nanos, slot: SendSlot, until: number): number {
    const { sndUna, sendSeq } = this.#outbound
    const board = this.#board
    if (board.top <= sndUna) return until - 1
    let newest = until > board.top ? until - 1 : -1
    for (let seq = sndUna, end = Math.min(until, board.top); seq < end; seq++) {
      const sacked = board.isSacked(seq)
      const bytes = this.#bytesOf(slot, seq)
      // What is about to be counted as acknowledged, or as no longer in flight, may have been counted before.
      if (board.isTold(seq)) this.#outbound.acked.addBytes(-bytes)
      if (seq < sendSeq && (sacked || board.isLost(seq))) this.#outbound.inFlightBytes += bytes
      if (!sacked) {
        newest = Math.max(newest, seq)
        if (!slot.awaitsResponse) this.#arrived(now, seq)
      }
      board.clear(seq)
    }
    if (until > board.top && !slot.awaitsResponse) this.#arrived(now, until - 1)
    return newest
  }

  /**
   * Prepares for going back: all that is not known to have arrived will be retransmitted from `sndUna` on. `sndUna`
   * itself is retransmitted in any case: the peer has just asked for it, or has been silent.
   *
   * @param forget the peer may have dropped what it has acknowledged by a SACK (RFC 2018, section 8)
   */
  goBack(forget: boolean): void {
    const { sndUna, sndNxt } = this.#outbound
    const board = this.#board
    board.unsack(sndUna)
    for (let seq = sndUna; seq < board.top; seq++) {
      board.unlose(seq)
      if (forget) board.unsack(seq)
    }
    this.#judgedSeq = sndNxt
    this.#recoverySeq = sndNxt
    this.#doubtfulSeq = NO_SEQ
    this.#repeats.clear()
    this.#responseRepeats.clear()
    this.#evidence.forget()
    this.#rack.onGoingBack(this.#outbound.context.transmissions)
    this.#originals.onSilence(this.#outbound.context.transmissions)
    this.deadlineNs = NEVER
  }

  /** Going back was needless: what was sent once is in flight. */
  judgeAnew(): void {
    this.#judgedSeq = NO_SEQ
    this.#rack.onGoingForward()
  }

  /** The PSN up to which the peer has carried out everything. */
  get executedSeq(): number {
    return this.#executedSeq
  }

  /** Forgets everything. */
  stop(): void {
    this.kept.clear()
    this.#board.reset()
    this.deadlineNs = NEVER
  }

  /** Payload bytes of the packet. */
  #bytesOf(slot: SendSlot, seq: number): number {
    return slot.awaitsResponse ? 0 : bytesBetween(slot, seq, seq + 1, this.#mtu)
  }
}
