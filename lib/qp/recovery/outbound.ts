import { assert } from '../../errors.js'
import type { QpContext } from '../context/context.js'
import { bytesBetween, type SendSlot } from '../queues/send-queue.js'
import { NewlyAcked } from './newly-acked.js'
import { RoundTrips } from './round-trips.js'
import { SendLog } from './send-log.js'
import { Spurious } from './spurious.js'

/**
 * This end's stream of requests: what has been sent, what of it is acknowledged, and when it left. The requester and its parts for
 * selective repeat, silence and tail probes read and move it.
 *
 *     head work request        at sendSeq
 *     v                        v
 *     | sndUna  … sent …       | sendSeq  … sent before, to be repeated … | sndNxt  … never sent …
 *
 * A work request takes its PSNs as it is posted. Going back is setting `sendSeq` to `sndUna`; both lie in the
 * work request at the head, since all before has completed.
 */
export class Outbound {
  readonly context: QpContext
  readonly trips = new RoundTrips()
  readonly spurious: Spurious
  readonly acked = new NewlyAcked()
  readonly log: SendLog
  /** The oldest PSN without an answer. */
  sndUna = 0
  /** The next new PSN to be sent: behind a READ, the one after its last response. */
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
  /** Bytes of the responses awaited that have not come: this queue pair's part of the host's ReadRoom. */
  #awaitedBytes = 0

  constructor(context: QpContext) {
    this.context = context
    this.spurious = new Spurious(context)
    this.log = new SendLog(context.settings.maxPacketsInFlight)
  }

  /** Begins with that PSN. */
  start(sendPsn: number): void {
    const { sendQueue } = this.context
    this.sndUna = sendPsn
    this.sndNxt = sendPsn
    sendQueue.nextSeq = sendPsn
    this.goBack()
  }

  /** Everything from `sndUna` on is to be retransmitted. */
  goBack(): void {
    this.trips.stop()
    this.sendSeq = this.sndUna
    this.sendIndex = this.context.sendQueue.head
    this.inFlightBytes = 0
    this.unaskedPackets = 0
    this.#awaitNothing()
  }

  /** Nothing is sent any more. */
  stop(): void {
    this.trips.stop()
    this.sendIndex = this.context.sendQueue.tail
    this.inFlightBytes = 0
    this.#awaitNothing()
    this.context.settings.readRoom.leave(this.context.qpn)
  }

  /**
   * What holds between two events, whatever the peer sends. Throws WEIR_INTERNAL where it does not: a packet would be sent, or
   * work completed, that nobody asked for.
   */
  check(): void {
    const { sndUna, sendSeq, sndNxt, context } = this
    const { sendQueue, settings } = context
    assert(sndUna <= sendSeq && sendSeq <= sndNxt, 'requester: sendSeq lies outside of what was sent')
    assert(sndNxt <= sendQueue.nextSeq, 'requester: a PSN was sent that no work request has')
    assert(
      sendQueue.isEmpty || sendQueue.at(sendQueue.head).firstSeq <= sndUna,
      'requester: sndUna is behind its work request',
    )
    assert(
      this.inFlightBytes >= 0 && (this.inFlightBytes === 0 || sendSeq > sndUna),
      'requester: bytes in flight without packets',
    )
    assert(
      this.responsesAwaited >= 0 && this.responsesAwaited <= settings.initiatorDepth,
      'requester: more READs and atomics than were granted',
    )
    assert(this.#awaitedBytes >= 0, 'requester: more bytes of responses than were asked for')
  }

  /** The oldest packet without an acknowledgement, sent or not, is a full one of a SEND or WRITE. */
  get beginsFull(): boolean {
    const { sendQueue, settings } = this.context
    if (sendQueue.head === sendQueue.tail) return false
    const slot = sendQueue.at(sendQueue.find(this.sndUna))
    const { pathMtu } = settings
    return !slot.awaitsResponse && bytesBetween(slot, this.sndUna, this.sndUna + 1, pathMtu) === pathMtu
  }

  /** Bytes that a READ at `sendSeq` requests: one that is repeated from its middle requests the rest. */
  bytesToAsk(slot: SendSlot): number {
    return bytesBetween(slot, this.sendSeq, slot.lastSeq + 1, this.context.settings.pathMtu)
  }

  /** The READ or atomic at `sendSeq` has been requested. */
  awaitResponse(slot: SendSlot): void {
    const { qpn, settings } = this.context
    const bytes = this.bytesToAsk(slot)
    settings.readRoom.take(qpn, bytes)
    this.#awaitedBytes += bytes
    this.responsesAwaited++
    this.sendSeq = slot.lastSeq + 1
  }

  /** Responses of so many bytes have come. */
  awaitLess(bytes: number): void {
    this.context.settings.readRoom.give(bytes)
    this.#awaitedBytes -= bytes
  }

  /** Forgets what has been requested: it will be requested again, or not at all. */
  #awaitNothing(): void {
    this.context.settings.readRoom.give(this.#awaitedBytes)
    this.#awaitedBytes = 0
    this.responsesAwaited = 0
  }
}
