import { assert, WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FrameRun } from '../frame/frame-run.js'
import type { ReceivedRun } from '../frame/received-run.js'
import type { Nanos } from '../time/nanos.js'
import * as bth from '../wire/ib/bth.js'
import { isKnown, isOfOtherService, isRequest, Opcode } from '../wire/ib/opcode.js'
import {
  type CommonQpConfig,
  checkAttributes,
  lacking,
  type QpAttributes,
  type QpConfig,
  QpSettings,
} from './context/config.js'
import { QpContext } from './context/context.js'
import type { QpCounters } from './context/counters.js'
import type { QpObserver } from './context/observer.js'
import { checkTransition, QpState, qpStateName, STATE_TABLE } from './context/states.js'
import { mayCarryAck, onCarriedAck, onDelayedAck, writeCarriedAck, writeDelayedAck } from './delayed-ack.js'
import { checkDomain } from './memory/memory.js'
import { CompletionQueue } from './queues/completion-queue.js'
import { checkedReceive } from './queues/receive-queue.js'
import { checkedSend, type SendSlot } from './queues/send-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from './queues/work.js'
import { WorkStatus } from './queues/work-status.js'
import type { SendLog } from './recovery/send-log.js'
import { acceptResponses, roomForResponses } from './requester/accept-responses.js'
import { refuses } from './requester/on-acknowledge.js'
import { onResponse } from './requester/on-response.js'
import { nextTimeout, onTimeout } from './requester/on-timeout.js'
import { Requester } from './requester/requester.js'
import { requestPayloadBytes, transmitRequest } from './requester/transmit-request.js'
import { middlesNext, transmitRun } from './requester/transmit-run.js'
import { acknowledgeAgain } from './responder/answers.js'
import { executeRun, roomForRun } from './responder/execute-run.js'
import { Responder } from './responder/responder.js'
import {
  ackIsNext,
  beginResponses,
  middleResponsesNext,
  responsePayloadBytes,
  transmitAck,
  transmitAtomicResponse,
  transmitInRun,
  transmitReadResponse,
} from './responder/transmit-response.js'

export type { CommonQpConfig, QpAttributes, QpConfig } from './context/config.js'
export type { QpObserver } from './context/observer.js'
export { QpState } from './context/states.js'

/** What `pollTransmit` writes. */
export const TxKind = {
  NONE: 0,
  /** ACK or NAK, or an atomic's response: never paced. */
  ACK: 1,
  /** A READ response: paced. */
  RESPONSE: 2,
  /** A new or repeated request: paced and windowed. */
  REQUEST: 3,
} as const
export type TxKind = (typeof TxKind)[keyof typeof TxKind]

const LAST_RC_OPCODE = 0x1f
/** Attributes that are settled on the way to RTR. */
const UNTIL_RTR = [
  'remoteQpn',
  'receivePsn',
  'pathMtu',
  'responderResources',
  'selectiveRepeat',
  'grantedPackets',
] as const satisfies readonly (keyof QpAttributes)[]
/** Without the bit of full members. */
const PARTITION = bth.DEFAULT_PARTITION_KEY & 0x7fff
/** In settings that are kept for others. Nobody writes there. */
const NO_COMPLETIONS = new CompletionQueue(1)

/**
 * A reliable connected queue pair (IBA 9.7, 10.2.4): requester and responder on one connection, sans-IO.
 *
 * Packets and times go in by `onPacket` and `onTimeout`; after those, and after a post, poll with
 * `pollTransmit` and read `nextTimeout`. Completions are in the completion queues. Sequence numbers are
 * unwrapped PSNs: the low 24 bits are those on the wire.
 */
export class QueuePair {
  readonly qpn: number
  readonly counters: QpCounters
  /** Its settings are those of a connection that has been settled before. */
  readonly isSettled: boolean
  /** Unwrapped PSN of the packet that `pollTransmit` last wrote. */
  lastTransmittedSeq = 0
  /** True if that packet was a request that had been sent before. */
  lastTransmittedWasRetransmission = false
  readonly #context: QpContext
  /** Halves of the current connection; the next one gets new ones. */
  #requester: Requester
  #responder: Responder
  #requestsTurn = false
  /** A NAK that took the peer into error has come since this end was in error. */
  #peerRefused = false
  /** Work request whose packet `peekTransmit` last found to be next, if that was a request. */
  #nextSlot: SendSlot | null = null

  /**
   * Throws WEIR_BAD_ARGUMENT for a setting out of its range. Begins in RESET.
   *
   * @param common as QpSettings; `settled` of another queue pair: then `begin` takes the place of `modify`
   */
  constructor(config: QpConfig, observer: QpObserver, common: CommonQpConfig = config) {
    this.qpn = config.qpn
    this.isSettled = common instanceof QpSettings
    this.#context = new QpContext(new QpSettings(config, common), observer)
    this.counters = this.#context.counters
    this.#requester = new Requester(this.#context)
    this.#responder = new Responder(this.#context)
    this.#context.onStopped = () => {
      this.#requester.stop()
      this.#responder.stop()
    }
  }

  get state(): QpState {
    return this.#context.state
  }

  get remoteQpn(): number {
    return this.#context.remoteQpn
  }

  get pathMtu(): number {
    return this.#context.settings.pathMtu
  }

  /** The packet that `onPacket` has handled last was new: a request or a response that was carried out, or kept until its turn. */
  get took(): boolean {
    return this.#context.took
  }

  /** It was a response of which nothing was taken: it had come before, or there was no room to keep it. */
  get arrivedInVain(): boolean {
    return this.#context.arrivedInVain
  }

  /** Payload bytes of requests sent and not acknowledged; after going back, only of those retransmitted since. */
  get inFlightBytes(): number {
    return this.#requester.outbound.inFlightBytes
  }

  /** The oldest packet of this end without an acknowledgement is a full one. */
  get awaitsFull(): boolean {
    return this.#requester.outbound.beginsFull
  }

  /**
   * True if no request of this end is in flight: all are acknowledged, or taken for lost after silence.
   */
  get isQuiet(): boolean {
    return this.#requester.outbound.sendSeq === this.#requester.outbound.sndUna
  }

  /**
   * True if this end has refused a request of the peer by a NAK that took the queue pair into error, and the peer may not have
   * received it: it has not refused a request of ours, which would have taken it into error as well.
   */
  get hasRefused(): boolean {
    return this.#responder.inbound.owed.refused && !this.#peerRefused
  }

  /** When its request packets left, and which transmissions they were. */
  get sendLog(): SendLog {
    return this.#requester.outbound.log
  }

  /** Request packets and READ responses sent so far: `sendLog` numbers them, from 0. */
  get transmissions(): number {
    return this.#context.transmissions
  }

  /** The next new PSN to be sent. Never goes back. */
  get sndNxt(): number {
    return this.#requester.outbound.sndNxt
  }

  /** The oldest PSN that is not acknowledged. */
  get sndUna(): number {
    return this.#requester.outbound.sndUna
  }

  /** The next PSN expected of the peer. */
  get nextReceiveSeq(): number {
    return this.#responder.inbound.expectedSeq
  }

  /** Work requests in the send queue that have not completed. */
  get sendPending(): number {
    return this.#context.sendQueue.pending
  }

  /** There is work of this end or a request of the peer: without either nothing but an ACK or a NAK can leave. */
  get hasWork(): boolean {
    return this.#context.sendQueue.pending > 0 || this.#responder.inbound.table.pending !== null
  }

  /** Receives that have not completed. */
  get receivePending(): number {
    return this.#context.receiveQueue.count
  }

  /** Round trip of the idle path, ns. Timers use it until a round trip is measured. */
  set baseRttNs(rttNs: Nanos) {
    this.#requester.outbound.trips.expectedNs = rttNs
  }

  /** AckReq is set at least once in so many packets: keep it below the number of packets that the window allows. */
  set ackRequestEveryPackets(packets: number) {
    this.#context.settings.ackRequestEveryPackets = Math.max(1, Math.floor(packets))
  }

  /**
   * Takes the queue pair to a state, by the table in states.ts, with what that state needs: remoteQpn and receivePsn
   * for RTR, sendPsn for RTS. Throws WEIR_BAD_STATE for a transition that the table does not have, WEIR_BAD_ARGUMENT
   * for an attribute that is missing or out of range. ERR flushes all work, RESET forgets it.
   */
  modify(now: Nanos, state: QpState, attributes: QpAttributes = {}): void {
    const context = this.#context
    checkTransition(this.qpn, context.state, state)
    checkAttributes(this.qpn, attributes)
    if (state === QpState.ERR) {
      context.fail(now, WorkStatus.WR_FLUSH_ERR)
      return
    }
    const from = context.state
    const { remoteQpn, receivePsn, sendPsn } = attributes
    if (state === QpState.RTR && (remoteQpn === undefined || receivePsn === undefined))
      throw lacking(this.qpn, qpStateName(state), attributes, ['remoteQpn', 'receivePsn'])
    if (state === QpState.RTS && from === QpState.RTR && sendPsn === undefined)
      throw lacking(this.qpn, qpStateName(state), attributes, ['sendPsn'])
    this.#takeAttributes(state, attributes)
    context.state = state
    if (state === QpState.RESET) this.#reset()
    if (state === QpState.RTR) this.#responder.start(receivePsn!)
    if (state === QpState.RTS && from === QpState.RTR) this.#requester.start(sendPsn!)
  }

  /** Its settings as they are now, for queue pairs like it. */
  settled(): CommonQpConfig {
    const { settings } = this.#context
    const { qpn, memory } = settings
    // Whoever keeps them keeps neither completions nor the application's receives.
    return new QpSettings({ qpn, sendCq: NO_COMPLETIONS, receiveCq: NO_COMPLETIONS, memory }, settings)
  }

  /** From RESET to RTS at once, where the settings are another queue pair's: PSNs and the peer's QPN are all that is new. */
  begin(remoteQpn: number, receivePsn: number, sendPsn: number): void {
    const context = this.#context
    assert(
      this.isSettled && context.state === QpState.RESET,
      'queue pair: it begins as another one, and once',
    )
    context.remoteQpn = remoteQpn
    context.state = QpState.RTS
    this.#responder.start(receivePsn)
    this.#requester.start(sendPsn)
  }

  #takeAttributes(state: QpState, attributes: QpAttributes): void {
    const { remoteQpn } = attributes
    const late = state > QpState.RTR ? settledBeforeRts(attributes) : undefined
    if (late !== undefined) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `queue pair ${this.qpn}: ${late} cannot change on the way to ${qpStateName(state)}; give it with RTR`,
      )
    }
    this.#context.settings.take(attributes)
    if (remoteQpn !== undefined) this.#context.remoteQpn = remoteQpn
    this.#requester.takeSettings()
  }

  #reset(): void {
    this.#context.sendQueue.clear()
    this.#context.receiveQueue.clear()
    this.#requester.stop()
    this.#responder.stop()
    this.#requester = new Requester(this.#context)
    this.#responder = new Responder(this.#context)
    this.#requester.start(0)
    this.#responder.start(0)
    this.#requestsTurn = false
    this.#nextSlot = null
    this.#peerRefused = false
  }

  /**
   * Posts a work request. False if the send queue or its completion queue is full: post again after a
   * completion. In ERR it completes with WR_FLUSH_ERR at once. Throws WEIR_BAD_ARGUMENT for work that makes no
   * sense or names a region of another protection domain, WEIR_BAD_STATE before RTS.
   */
  postSend(_now: Nanos, posted: SendWork): boolean {
    const context = this.#context
    const rule = STATE_TABLE[context.state]!
    if (!rule.postSend) throw this.#badState('postSend', 'RTS')
    const work = checkedSend(this.qpn, posted)
    checkDomain(this.qpn, work.region, context.settings.domain)
    if (work.opcode >= WorkOpcode.RDMA_READ && context.settings.initiatorDepth === 0) {
      throw new WeirError(
        'WEIR_BAD_STATE',
        `queue pair ${this.qpn}: READs and atomics need an initiatorDepth above 0, which the peer must grant`,
      )
    }
    const { pathMtu, readRoom } = context.settings
    if (!context.sendQueue.post(work, pathMtu, readRoom.requestBytesMax(pathMtu))) return false
    if (rule.flushes) context.sendQueue.flush()
    return true
  }

  /**
   * Posts a receive. False if the receive queue or its completion queue is full. In ERR it completes with
   * WR_FLUSH_ERR at once. Throws as `postSend` does.
   */
  postReceive(posted: ReceiveWork): boolean {
    const context = this.#context
    const rule = STATE_TABLE[context.state]!
    if (!rule.postReceive) throw this.#badState('postReceive', 'INIT')
    const work = checkedReceive(this.qpn, posted)
    checkDomain(this.qpn, work.region, context.settings.domain)
    if (!context.receiveQueue.post(work)) return false
    if (rule.flushes) context.receiveQueue.flush()
    return true
  }

  #badState(call: string, state: string): WeirError {
    const message = `queue pair ${this.qpn}: ${call} in ${qpStateName(this.state)}; modify it to ${state} first`
    return new WeirError('WEIR_BAD_STATE', message)
  }

  /**
   * A packet for this queue pair, parsed (`bth`, `payload` and `payloadLength` are set), its ICRC verified. The
   * frame stays the caller's. What cannot be used is counted and dropped.
   */
  onPacket(now: Nanos, frame: Frame): void {
    const { counters, settings } = this.#context
    const opcode = bth.opcode(frame.view, frame.bth)
    this.#context.took = false
    this.#context.arrivedInVain = false
    if (bth.version(frame.view, frame.bth) !== 0) counters.droppedVersion++
    else if (!isDefaultPartition(bth.partitionKey(frame.view, frame.bth))) counters.droppedPartition++
    else if (
      !isKnown(opcode) ||
      (opcode > LAST_RC_OPCODE && !(opcode === Opcode.SACK && settings.selectiveRepeat))
    ) {
      counters.droppedOpcode++
      if (isOfOtherService(opcode, LAST_RC_OPCODE)) counters.otherService++
    } else if (isRequest(opcode)) {
      if (this.#context.responds) {
        this.#responder.onRequest(now, frame, opcode)
      } else {
        counters.droppedState++
        this.#responder.onRequestInError(frame)
      }
    } else if (this.#context.requests) {
      onResponse(this.#requester, now, frame, opcode)
      this.#requester.outbound.check()
    } else {
      counters.droppedState++
      if (opcode === Opcode.RC_ACKNOWLEDGE && refuses(frame)) this.#peerRefused = true
    }
  }

  /**
   * How many packets of a run, 0 to `most`, `onRun` could carry out. `onPacket` has just handled `frame`, the packet before
   * them, and they differ from it in payload and PSN only.
   */
  roomForRun(frame: Frame, most: number): number {
    const context = this.#context
    const opcode = bth.opcode(frame.view, frame.bth)
    if (!context.took) return 0
    if (opcode === Opcode.RC_RDMA_READ_RESPONSE_MIDDLE) return roomForResponses(this.#requester, frame, most)
    return context.responds ? roomForRun(this.#responder.inbound, frame, opcode, most) : 0
  }

  /**
   * Carries out the first `packets` of a run, at most `roomForRun`, with the right ICRC, as `onPacket` would one by one. One
   * acknowledgement stands for all of them, where they are requests.
   *
   * @param asksForAck one of them asks for an acknowledgement
   */
  onRun(now: Nanos, frame: Frame, run: ReceivedRun, packets: number, asksForAck: boolean): void {
    if (bth.opcode(frame.view, frame.bth) === Opcode.RC_RDMA_READ_RESPONSE_MIDDLE)
      acceptResponses(this.#requester, now, frame, run, packets)
    else executeRun(this.#responder.inbound, frame, run, packets, asksForAck)
  }

  /** Call at the time of `nextTimeout`; harmless when called early. */
  onTimeout(now: Nanos): void {
    onTimeout(this.#requester, now)
  }

  /** What was sent and is not acknowledged was lost with its path: all of it is retransmitted, which uses up no retry. */
  repeat(now: Nanos): void {
    this.#requester.onRetransmitTimeout(now)
  }

  nextTimeout(): Nanos {
    return nextTimeout(this.#requester)
  }

  /** A time before which no request fails because its retries are exhausted. */
  exhaustedNotBefore(now: Nanos): Nanos {
    return this.#requester.exhaustedNotBefore(now)
  }

  /**
   * What `pollTransmit` would write next. ACKs come first; READ responses and requests take turns.
   * @param requestsAllowed false while the window is closed: as if there were no requests
   */
  peekTransmit(requestsAllowed = true): TxKind {
    const { inbound } = this.#responder
    if (ackIsNext(inbound)) return TxKind.ACK
    const { pending } = inbound.table
    if (pending?.isAtomic) return TxKind.ACK
    if (pending !== null && !this.#requestsTurn) return TxKind.RESPONSE
    // A probe goes even if the window is full (RFC 8985, section 7.3).
    if (requestsAllowed || this.#requester.tail?.pending) {
      this.#nextSlot = this.#requester.nextSlot()
      if (this.#nextSlot !== null) return TxKind.REQUEST
    }
    return pending === null ? TxKind.NONE : TxKind.RESPONSE
  }

  /** Payload bytes of that packet. */
  nextPayloadBytes(requestsAllowed = true): number {
    switch (this.peekTransmit(requestsAllowed)) {
      case TxKind.RESPONSE:
        return responsePayloadBytes(this.#responder.inbound, this.#responder.inbound.table.pending!)
      case TxKind.REQUEST:
        return requestPayloadBytes(this.#requester, this.#nextSlot!, this.#requester.nextSeq)
      default:
        return 0
    }
  }

  /**
   * Writes the next packet from `at` on: BTH, extended headers, payload, pad. Sets the frame's `bth`, `payload`,
   * `payloadLength`, `length` and `wireLength`; the lengths do not include the ICRC, which the caller adds. NONE if
   * there is nothing to send. After an error, packets that explain it to the peer may still be there.
   */
  pollTransmit(now: Nanos, frame: Frame, at: number, requestsAllowed = true): TxKind {
    return this.transmit(now, this.peekTransmit(requestsAllowed), frame, at)
  }

  /** The same where `peekTransmit` has just said which kind is next. */
  transmit(now: Nanos, kind: TxKind, frame: Frame, at: number): TxKind {
    this.lastTransmittedWasRetransmission = false
    switch (kind) {
      case TxKind.ACK:
        this.#transmitAck(frame, at)
        return kind
      case TxKind.RESPONSE: {
        const { inbound } = this.#responder
        const record = inbound.table.pending!
        this.lastTransmittedSeq = record.nextSeq
        this.#requestsTurn = true
        const done = transmitReadResponse(inbound, now, record, frame, at)
        // The packet could not be made, and the queue pair is in error: only a NAK may be left to send.
        return done ? kind : this.pollTransmit(now, frame, at, false)
      }
      case TxKind.REQUEST: {
        const requester = this.#requester
        const seq = requester.nextSeq
        this.lastTransmittedSeq = seq
        this.lastTransmittedWasRetransmission = seq < requester.outbound.sndNxt
        this.#requestsTurn = false
        const done = transmitRequest(requester, now, this.#nextSlot!, seq, frame, at)
        requester.outbound.check()
        return done ? kind : TxKind.NONE
      }
      default:
        return kind
    }
  }

  /**
   * Packets that may follow the one that `pollTransmit` has just written, and differ from it in PSN and AckReq alone; 0 unless that
   * was a new request, and another one is next.
   */
  get runPackets(): number {
    const { inbound } = this.#responder
    if (ackIsNext(inbound) || inbound.table.pending !== null) return 0
    const requester = this.#requester
    if (this.lastTransmittedWasRetransmission || this.lastTransmittedSeq !== requester.outbound.sendSeq - 1)
      return 0
    return middlesNext(requester)
  }

  /** Begins a run behind that packet, and writes so many of them: `runPackets` and the run's `room` at most. */
  transmitRun(now: Nanos, head: Frame, run: FrameRun, packets: number): void {
    transmitRun(this.#requester, now, head, run, packets)
    this.lastTransmittedSeq += packets
    this.#requester.outbound.check()
  }

  /**
   * READ responses that may follow the one that `pollTransmit` has just written, and differ from it in PSN and AckReq alone; 0 unless
   * that was a READ response, and another one is next.
   */
  get runResponses(): number {
    const { inbound } = this.#responder
    // A request would have its turn.
    if (this.#context.sendQueue.pending > 0) return 0
    return inbound.table.pending?.nextSeq === this.lastTransmittedSeq + 1 ? middleResponsesNext(inbound) : 0
  }

  /** Begins a run of so many of them behind that one: `runResponses` and the run's `room` at most. */
  beginResponses(head: Frame, run: FrameRun, packets: number): void {
    beginResponses(this.#responder.inbound, head, run, packets)
  }

  /** Writes packet `i` of that run, without AckReq. */
  transmitInRun(run: FrameRun, i: number): void {
    transmitInRun(this.#responder.inbound, run, i)
    this.lastTransmittedSeq++
  }

  /**
   * For a packet that also carries an acknowledgement: writes the AETH at `at`, and returns the PSN acknowledged, or -1
   * if no ACK may go now.
   */
  writeDelayedAck(frame: Frame, at: number): number {
    return writeDelayedAck(this.#responder.inbound, frame, at)
  }

  /** Such a packet arrived, with its AETH behind the BTH. @param psn acknowledged, 24 bits */
  onDelayedAck(now: Nanos, frame: Frame, psn: number): void {
    if (!this.#context.requests) return
    onDelayedAck(this.#requester, now, frame, psn)
    this.#requester.outbound.check()
  }

  /**
   * True if the next packet with payload may carry the ACK that is owed, and is a whole message that is sent for the first time.
   * Once `carryAck` has written it, that packet is next.
   */
  get mayCarryAck(): boolean {
    if (!mayCarryAck(this.#responder.inbound)) return false
    const requester = this.#requester
    const slot = requester.nextSlot()
    if (slot === null || slot.awaitsResponse || slot.lastSeq !== slot.firstSeq) return false
    return requester.nextSeq >= requester.outbound.sndNxt
  }

  /** Writes the ACK that is owed into a frame that `carriedAck.begin` has begun. `mayCarryAck` has to be true. */
  carryAck(frame: Frame): void {
    writeCarriedAck(this.#responder.inbound, frame)
  }

  /** The packet that carries an ACK is made. */
  carriesAck(): void {
    this.counters.acksSent++
  }

  /** A packet with payload carried an ACK. */
  onCarriedAck(now: Nanos, frame: Frame): void {
    if (!this.#context.requests) return
    onCarriedAck(this.#requester, now, frame)
    this.#requester.outbound.check()
  }

  /** The packet that was to carry an ACK could not be made. */
  oweAckAgain(): void {
    acknowledgeAgain(this.#responder.inbound)
  }

  #transmitAck(frame: Frame, at: number): void {
    const { inbound } = this.#responder
    if (ackIsNext(inbound)) {
      this.lastTransmittedSeq = inbound.owed.seq
      transmitAck(inbound, frame, at)
    } else {
      const record = inbound.table.pending!
      this.lastTransmittedSeq = record.nextSeq
      transmitAtomicResponse(inbound, record, frame, at)
    }
  }
}

/** The first of the given attributes that is settled on the way to RTR. */
function settledBeforeRts(attributes: QpAttributes): keyof QpAttributes | undefined {
  return UNTIL_RTR.find(name => attributes[name] !== undefined)
}

/**
 * The default partition, of which every queue pair is a full member (IBA 9.6.1): RoCEv2 has no others, as VLANs divide an Ethernet
 * (IBA annex A16). The peer may be a limited member.
 */
function isDefaultPartition(key: number): boolean {
  return (key & PARTITION) === PARTITION
}
