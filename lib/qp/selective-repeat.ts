import type { Frame } from '../frame/frame.js'
import { LostPackets } from './lost-packets.js'
import { ReorderBuffer } from './reorder-buffer.js'
import type { Requester } from './requester.js'
import { Scoreboard } from './scoreboard.js'
import { bytesBetween, type SendSlot } from './send-queue.js'

const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * The requester's part of selective repeat: which packets the peer has although an earlier one is missing, which are
 * taken for lost, and which of those have been sent again. Packets of SENDs and WRITEs, and requests, are lost on the
 * way there, and SACKs tell of that; responses of READs and atomics are lost on the way back, and those that came out
 * of order are kept here until their turn.
 *
 * A packet is taken for lost when one that was sent at least `reorderTolerance` packets later has arrived (RFC 6675,
 * section 5, by distance as in Mathis and Mahdavi's FACK), or when the very last packet sent has arrived: nothing
 * later can tell then. "Later" is counted by `order`: for a packet sent once, its PSN; for one sent again, the newest
 * PSN that had been sent by then. So a packet that was sent again is taken for lost again only when a packet is
 * answered that was new after it: at most once in a round trip, without a clock (RFC 8985 does by time what this does
 * by order).
 *
 * There may be nothing new to send. So packets sent again are numbered too, and the arrival of one tells of those
 * sent again before it, if the SACK has room for them in its bitmap (an earlier SACK may have been lost), and, when
 * nothing new was sent behind it, of all new packets. A packet sent again twice tells nothing, as either may have
 * arrived (Karn).
 *
 * Responses need no such care: they come in the order in which they are asked for again, ahead of all others.
 */
export class SelectiveRepeat {
  /** Responses that came out of order. */
  readonly kept: ReorderBuffer
  /**
   * The highest PSN that the peer has acknowledged in order, even if responses of READs and atomics are missing
   * before it.
   */
  #executedSeq = NO_SEQ
  /** The highest PSN whose request, and whose response, is known to have arrived. */
  #requestEvidence = NO_SEQ
  #responseEvidence = NO_SEQ
  /** Up to where the evidence has been followed for packets sent once. */
  #requestsSeen = NO_SEQ
  #responsesSeen = NO_SEQ
  /** No packet sent again has a lower order. */
  #leastOrder = Number.POSITIVE_INFINITY
  /**
   * How many packets were sent again, and the latest of these known to have arrived, and to have been answered by a
   * response.
   */
  #repairs = 0
  /** The next new PSN at the time when the latest of those that arrived was sent. */
  #repairOrder = NO_SEQ
  /** First of the PSNs that the current bitmap covers. */
  #coveredFrom = 0
  #coveredUntil = 0
  #repairArrived = 0
  #repairAnswered = 0
  /** No packet that was sent again and has not arrived has a lower number. */
  #leastRepair = Number.POSITIVE_INFINITY
  /**
   * When it last went back, all requests before this PSN were due to be sent again: only newer ones show what is
   * lost.
   */
  #wentBackAt = NO_SEQ
  readonly #requester: Requester
  readonly #board: Scoreboard
  readonly #tolerance: number
  readonly #mtu: number
  /** What the observer has not been told of. */
  readonly lost = new LostPackets()

  constructor(requester: Requester) {
    const { pathMtu, maxPacketsInFlight, reorderPool, reorderPackets, reorderTolerance } =
      requester.context.settings
    this.#requester = requester
    this.#mtu = pathMtu
    this.#tolerance = reorderTolerance
    this.#board = new Scoreboard(maxPacketsInFlight)
    this.kept = new ReorderBuffer(reorderPool, reorderPackets, maxPacketsInFlight)
  }

  /** True while anything is known of single packets. */
  get active(): boolean {
    return this.#board.top > this.#requester.sndUna
  }

  /** True if there are lost packets to be sent again. */
  get hasLost(): boolean {
    return this.#board.lostCount > 0
  }

  /** The lowest PSN to be sent again; there must be one. */
  get lostSeq(): number {
    return this.#board.firstLost()
  }

  /** True if the peer has that request, or packet of a SEND or WRITE; from `sndUna` on. */
  isSacked(seq: number): boolean {
    return this.#board.isSacked(seq)
  }

  // ---- What the peer tells

  /** It has carried out everything up to `seq`, and sent the responses. */
  acknowledged(seq: number): void {
    const requester = this.#requester
    const from = Math.max(this.#executedSeq + 1, requester.sndUna)
    if (seq > this.#executedSeq) this.#executedSeq = seq
    this.#responseEvidence = Math.max(this.#responseEvidence, seq)
    if (seq >= this.#wentBackAt) this.#requestEvidence = Math.max(this.#requestEvidence, seq)
    if (from > seq) return
    // Behind a READ or atomic whose response is missing.
    const queue = requester.context.sendQueue
    let index = queue.find(from)
    for (let at = from; at <= seq; ) {
      const slot = queue.at(index++)
      if (slot.awaitsResponse) {
        // From now on its marks are those of its responses.
        if (at === slot.firstSeq) {
          this.#noteRepair(at)
          this.#board.unlose(at)
          this.#board.unsack(at)
        }
        at = slot.lastSeq + 1
      } else for (const end = Math.min(seq, slot.lastSeq); at <= end; at++) this.#sack(slot, at)
    }
  }

  /** A bitmap tells of the PSNs from `from` to before `until`. */
  covers(from: number, until: number): void {
    this.#coveredFrom = from
    this.#coveredUntil = until
  }

  /**
   * The peer keeps the request `seq`, which is beyond the oldest unanswered one and before `sndNxt`. True if that is
   * news.
   */
  sacked(seq: number): boolean {
    // The oldest unanswered packet has to be sent again if the peer was not ready for it, even if the peer keeps it.
    if (seq <= Math.max(this.#executedSeq, this.#requester.sndUna) || this.#board.isSacked(seq)) return false
    const queue = this.#requester.context.sendQueue
    const slot = queue.at(queue.find(seq))
    // A READ is one request, at its first PSN.
    if (slot.awaitsResponse && seq !== slot.firstSeq) return false
    this.#sack(slot, seq)
    if (seq >= this.#wentBackAt) {
      this.#requestEvidence = Math.max(this.#requestEvidence, slot.awaitsResponse ? slot.lastSeq : seq)
    }
    return true
  }

  #sack(slot: SendSlot, seq: number): void {
    if (this.#board.isSacked(seq)) return
    const requester = this.#requester
    const bytes = this.#bytesOf(slot, seq)
    if (seq < requester.sendSeq && !this.#board.isLost(seq)) requester.inFlightBytes -= bytes
    this.#noteRepair(seq)
    requester.acknowledgedEarly(seq, this.#board.isTold(seq) ? 0 : bytes)
    this.#board.sack(seq)
  }

  /** A packet has arrived that may have been sent again. */
  #noteRepair(seq: number): void {
    if (!this.#board.isResent(seq) || this.#board.isResentTwice(seq)) return
    this.#repairArrived = Math.max(this.#repairArrived, this.#board.repairOf(seq))
    this.#repairOrder = Math.max(this.#repairOrder, this.#board.orderOf(seq))
  }

  /** A response has come, in order or not. */
  answered(seq: number): void {
    if (!this.#board.isResent(seq)) return
    this.#noteRepair(seq)
    this.#repairAnswered = Math.max(this.#repairAnswered, this.#board.repairOf(seq))
  }

  /**
   * A response came out of order: kept until its turn. False if there is no room, if it is there already, or if nothing
   * of that PSN awaits one.
   */
  keep(seq: number, frame: Frame): boolean {
    const { kept } = this
    const queue = this.#requester.context.sendQueue
    if (!queue.at(queue.find(seq)).awaitsResponse) return false
    this.#responseEvidence = Math.max(this.#responseEvidence, seq)
    if (seq - this.#requester.sndUna >= kept.span || kept.has(seq) || !kept.put(seq, frame)) return false
    this.#board.unlose(seq)
    return true
  }

  // ---- What is lost

  /** Finds out what is lost, from all that was told. */
  detect(): void {
    const { sndUna, sendSeq } = this.#requester
    if (this.#requester.context.sendQueue.isEmpty) return
    const requestsFrom = Math.max(this.#requestsSeen, sndUna, this.#executedSeq + 1)
    // If nothing new was sent behind the packet sent again that has arrived, it shows the fate of everything sent.
    const { sndNxt } = this.#requester
    const newest = this.#repairOrder === sndNxt ? sndNxt : this.#requestEvidence
    this.#requestsSeen = Math.max(this.#requestsSeen, Math.min(this.#firstSparedBy(newest), sendSeq))
    if (requestsFrom < this.#requestsSeen) this.#loseRequests(requestsFrom, this.#requestsSeen)
    const responsesFrom = Math.max(this.#responsesSeen, sndUna)
    const responsesEnd = Math.min(this.#firstSparedBy(this.#responseEvidence), sndUna + this.#board.span)
    this.#responsesSeen = Math.max(this.#responsesSeen, responsesEnd)
    if (responsesFrom < this.#responsesSeen) this.#loseResponses(responsesFrom, this.#responsesSeen)
    const evidence = Math.max(this.#requestEvidence, this.#responseEvidence)
    if (
      this.#tells(evidence, this.#leastOrder) ||
      this.#leastRepair < Math.max(this.#repairArrived, this.#repairAnswered)
    )
      this.#loseAgain()
  }

  /** The first PSN that the arrival of `evidence` does not show to be lost, of packets sent once. */
  #firstSparedBy(evidence: number): number {
    if (evidence >= this.#requester.sndNxt - 1) return evidence
    return evidence - this.#tolerance + 1
  }

  /** True if the arrival of `evidence` shows that a packet of that order is lost. */
  #tells(evidence: number, order: number): boolean {
    return order <= this.#firstSparedBy(evidence)
  }

  /** The same for requests sent again, by their numbers. */
  #repairTells(repair: number): boolean {
    const evidence = this.#repairArrived
    return repair + this.#tolerance <= evidence || (repair < evidence && evidence === this.#repairs)
  }

  #loseRequests(from: number, until: number): void {
    const queue = this.#requester.context.sendQueue
    let index = queue.find(from)
    for (let seq = from; seq < until; ) {
      const slot = queue.at(index++)
      if (slot.awaitsResponse) {
        if (seq === slot.firstSeq) this.#loseOnce(slot, seq)
        seq = slot.lastSeq + 1
      } else for (const end = Math.min(until - 1, slot.lastSeq); seq <= end; seq++) this.#loseOnce(slot, seq)
    }
  }

  #loseResponses(from: number, until: number): void {
    const queue = this.#requester.context.sendQueue
    if (!queue.at(queue.head).awaitsResponse) return
    let index = queue.find(from)
    for (let seq = from; seq < until && seq <= this.#executedSeq; ) {
      const slot = queue.at(index++)
      const end = Math.min(until - 1, slot.lastSeq)
      if (slot.awaitsResponse) for (; seq <= end; seq++) this.#loseOnce(slot, seq)
      seq = slot.lastSeq + 1
    }
  }

  #loseOnce(slot: SendSlot, seq: number): void {
    const board = this.#board
    if (!board.isSacked(seq) && !board.isLost(seq) && !board.isResent(seq)) this.#lose(slot, seq)
  }

  /** Looks through those sent again for ones that were lost again. */
  #loseAgain(): void {
    const board = this.#board
    const queue = this.#requester.context.sendQueue
    this.#leastOrder = Number.POSITIVE_INFINITY
    this.#leastRepair = Number.POSITIVE_INFINITY
    for (let seq = this.#requester.sndUna; seq < board.top; seq++) {
      if (!board.isResent(seq) || board.isSacked(seq)) continue
      const isResponse = seq <= this.#executedSeq
      const evidence = isResponse ? this.#responseEvidence : this.#requestEvidence
      const order = board.orderOf(seq)
      const repair = board.repairOf(seq)
      const lostAgain = isResponse
        ? repair < this.#repairAnswered
        : this.#repairTells(repair) && seq >= this.#coveredFrom && seq < this.#coveredUntil
      if (lostAgain || this.#tells(evidence, order)) {
        this.#lose(queue.at(queue.find(seq)), seq)
      } else {
        this.#leastOrder = Math.min(this.#leastOrder, order)
        this.#leastRepair = Math.min(this.#leastRepair, repair)
      }
    }
  }

  #lose(slot: SendSlot, seq: number): void {
    if (this.#isAnswered(slot, seq)) return
    const order = this.#board.isResent(seq) ? this.#board.orderOf(seq) - 0.5 : seq
    this.lost.add(seq, this.#bytesOf(slot, seq), order)
    this.repeat(slot, seq)
  }

  /**
   * A packet that was sent and is not known to have arrived is to be sent again; until then it is not in flight. The
   * observer is not told.
   */
  repeat(slot: SendSlot, seq: number): void {
    if (seq < this.#requester.sendSeq) this.#requester.inFlightBytes -= this.#bytesOf(slot, seq)
    this.#board.lose(seq)
  }

  #isAnswered(slot: SendSlot, seq: number): boolean {
    return slot.awaitsResponse && this.kept.has(seq)
  }

  // ---- What is sent again, and passed

  /**
   * The packet `seq` is being sent again, because it was lost or after going back. Returns how many PSNs are asked
   * for again: if a READ's request has arrived, the run of lost responses, else the whole of the request.
   */
  resend(slot: SendSlot, seq: number): number {
    const { sndNxt } = this.#requester
    this.#leastOrder = Math.min(this.#leastOrder, sndNxt)
    this.#leastRepair = Math.min(this.#leastRepair, ++this.#repairs)
    const isResponse = slot.awaitsResponse && slot.firstSeq <= this.#executedSeq
    if (!isResponse) {
      this.#board.resend(seq, sndNxt, this.#repairs)
      return slot.awaitsResponse ? slot.lastSeq + 1 - seq : 1
    }
    let next = seq
    for (; next <= slot.lastSeq && this.#board.isLost(next); next++) {
      this.#board.resend(next, sndNxt, this.#repairs)
    }
    return next - seq
  }

  /**
   * `sndUna` is about to move on to `until` within the slot: puts right what was counted early. Returns the
   * newest of these PSNs that was not known to have arrived, or -1.
   */
  onPassed(slot: SendSlot, until: number): number {
    const { sndUna, sendSeq } = this.#requester
    const board = this.#board
    if (board.top <= sndUna) return until - 1
    let newest = until > board.top ? until - 1 : -1
    for (let seq = sndUna, end = Math.min(until, board.top); seq < end; seq++) {
      const sacked = board.isSacked(seq)
      const bytes = this.#bytesOf(slot, seq)
      const told = board.isTold(seq) ? bytes : 0
      const out = seq < sendSeq && (sacked || board.isLost(seq)) ? bytes : 0
      this.#requester.countedEarly(told, out)
      if (!sacked) newest = Math.max(newest, seq)
      if (!slot.awaitsResponse) this.#noteRepair(seq)
      board.clear(seq)
    }
    return newest
  }

  /**
   * Prepares for going back: all that is not known to have arrived will be sent again from `sndUna` on. `sndUna`
   * itself is sent again in any case: the peer has just asked for it, or has been silent.
   *
   * @param forget the peer may have dropped what it kept, against its word (RFC 2018, section 8)
   */
  goBack(forget: boolean): void {
    const { sndUna, sndNxt } = this.#requester
    const board = this.#board
    board.unsack(sndUna)
    for (let seq = sndUna; seq < board.top; seq++) {
      board.unlose(seq)
      if (forget) board.unsack(seq)
    }
    this.#wentBackAt = sndNxt
    this.#requestEvidence = NO_SEQ
    this.#responseEvidence = NO_SEQ
    this.#repairOrder = NO_SEQ
    this.#requestsSeen = NO_SEQ
    this.#responsesSeen = NO_SEQ
    this.#leastOrder = Number.POSITIVE_INFINITY
    this.#leastRepair = Number.POSITIVE_INFINITY
  }

  /** The PSN up to which the peer has carried out everything. */
  get executedSeq(): number {
    return this.#executedSeq
  }

  /** Forgets everything. */
  stop(): void {
    this.kept.clear()
    this.#board.reset()
  }

  /** Payload bytes of the packet. */
  #bytesOf(slot: SendSlot, seq: number): number {
    return slot.awaitsResponse ? 0 : bytesBetween(slot, seq, seq + 1, this.#mtu)
  }
}
