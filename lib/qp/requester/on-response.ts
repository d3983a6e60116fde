import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as atomicAckEth from '../../wire/ib/atomic-ack-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { writeAtomicResult } from '../memory/atomic-memory.js'
import { Access } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { unwrapPsn } from '../queues/psn.js'
import type { SendSlot } from '../queues/send-queue.js'
import { WorkOpcode } from '../queues/work.js'
import { WorkStatus } from '../queues/work-status.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'
import { concludeSelective, implyNak, onAcknowledge, tellAcked } from './on-acknowledge.js'
import { onSack } from './on-sack.js'
import type { Requester } from './requester.js'

/** A packet of the peer's responder: ACK, NAK, SACK, READ response or atomic response. */
export function onResponse(requester: Requester, now: Nanos, frame: Frame, opcode: number): void {
  const seq = unwrapPsn(bth.psn(frame.view, frame.bth), requester.outbound.sndUna)
  if (opcode === Opcode.RC_ACKNOWLEDGE) onAcknowledge(requester, now, frame, seq)
  else if (opcode === Opcode.SACK) onSack(requester, now, frame, seq)
  else if (requester.selective !== null) onAnyResponse(requester, requester.selective, now, frame, seq)
  else {
    const slot = findAnswered(requester, now, seq)
    if (slot !== null) onNextResponse(requester, now, frame, slot)
  }
}

/** With selective repeat: the response that comes next is taken at once, others are kept until their turn. */
function onAnyResponse(
  requester: Requester,
  selective: SelectiveRepeat,
  now: Nanos,
  frame: Frame,
  seq: number,
): void {
  const { counters, observer, sendQueue } = requester.context
  if (seq >= requester.outbound.sndNxt) {
    counters.droppedGhost++
    return
  }
  if (seq < requester.outbound.sndUna) {
    counters.droppedResponseOrder++
    requester.context.arrivedInVain = true
    if (requester.outbound.spurious.onResponseTwice(frame.payloadLength)) selective.answeredTwice()
    observer.onAcked(now, seq, 0)
    return
  }
  requester.onHeard()
  selective.answered(now, seq)
  requester.acknowledgeThrough(now, seq - 1)
  const isNext = requester.outbound.sndUna === seq
  if (isNext) onNextResponse(requester, now, frame, sendQueue.at(sendQueue.head))
  else if (selective.keep(seq, frame)) {
    requester.context.took = true
    requester.onSign(now)
  } else {
    counters.droppedResponseOrder++
    requester.context.arrivedInVain = true
    const twice = selective.kept.has(seq) && requester.outbound.spurious.onResponseTwice(frame.payloadLength)
    if (twice) selective.answeredTwice()
  }
  if (!requester.context.requests) return
  if (isNext && selective.kept.count === 0 && !selective.active) return
  selective.acknowledged(now, seq)
  if (isNext) takeKept(requester, selective, now)
  concludeSelective(requester, selective, now, seq)
}

/**
 * Takes what was kept behind the response that has come: further responses, and acknowledgements of requests behind
 * them.
 */
function takeKept(requester: Requester, selective: SelectiveRepeat, now: Nanos): void {
  const { kept } = selective
  for (;;) {
    requester.acknowledgeThrough(now, selective.executedSeq)
    const frame = kept.take(requester.outbound.sndUna)
    if (frame === null) return
    onNextResponse(requester, now, frame, requester.context.sendQueue.at(requester.context.sendQueue.head))
    kept.give(frame)
  }
}

/** The response that `sndUna` stands for, with the READ or atomic at the head. */
function onNextResponse(requester: Requester, now: Nanos, frame: Frame, slot: SendSlot): void {
  const opcode = bth.opcode(frame.view, frame.bth)
  if (opcode === Opcode.RC_ATOMIC_ACKNOWLEDGE) onAtomicResponse(requester, now, frame, slot)
  else onReadResponse(requester, now, frame, opcode, slot)
}

/**
 * The READ or atomic that the response `seq` belongs to, if it is the next one awaited. The response acknowledges
 * everything before it; if a response is missing among that, it is requested again and this one is dropped.
 */
function findAnswered(requester: Requester, now: Nanos, seq: number): SendSlot | null {
  const { counters, observer, sendQueue } = requester.context
  if (seq >= requester.outbound.sndNxt) {
    counters.droppedGhost++
    return null
  }
  if (seq < requester.outbound.sndUna) {
    counters.droppedResponseOrder++
    requester.context.arrivedInVain = true
    observer.onAcked(now, seq, 0)
    return null
  }
  requester.onHeard()
  requester.acknowledgeThrough(now, seq - 1)
  if (requester.outbound.sndUna !== seq) {
    counters.droppedResponseOrder++
    tellAcked(requester, now, seq)
    implyNak(requester, now)
    return null
  }
  return sendQueue.at(sendQueue.head)
}

/**
 * The requester accepts any opcode that fits the place in the READ. When the rest of a READ is requested again, some
 * responders begin with FIRST and others with MIDDLE. The length must be that of the place (IBA 9.7.6).
 */
function onReadResponse(
  requester: Requester,
  now: Nanos,
  frame: Frame,
  opcode: number,
  slot: SendSlot,
): void {
  const context = requester.context
  const doneBytes = (requester.outbound.sndUna - slot.firstSeq) * context.settings.pathMtu
  const isLast = requester.outbound.sndUna === slot.lastSeq
  const expected = isLast ? slot.length - doneBytes : context.settings.pathMtu
  const endsMessage =
    opcode === Opcode.RC_RDMA_READ_RESPONSE_LAST || opcode === Opcode.RC_RDMA_READ_RESPONSE_ONLY
  if (slot.opcode !== WorkOpcode.RDMA_READ || endsMessage !== isLast || frame.payloadLength !== expected) {
    requester.failAt(now, requester.outbound.sndUna, WorkStatus.BAD_RESP_ERR)
    return
  }
  if (!slot.region!.allows(Access.LOCAL_WRITE)) {
    requester.failAt(now, requester.outbound.sndUna, WorkStatus.LOC_PROT_ERR)
    return
  }
  readPayload(frame, slot.region!, slot.offset + doneBytes)
  context.counters.readResponsePackets++
  context.counters.readResponseBytes += frame.payloadLength
  accept(requester, now, slot)
}

function onAtomicResponse(requester: Requester, now: Nanos, frame: Frame, slot: SendSlot): void {
  if (slot.opcode !== WorkOpcode.COMPARE_AND_SWAP && slot.opcode !== WorkOpcode.FETCH_AND_ADD) {
    requester.failAt(now, requester.outbound.sndUna, WorkStatus.BAD_RESP_ERR)
    return
  }
  if (!slot.region!.allows(Access.LOCAL_WRITE)) {
    requester.failAt(now, requester.outbound.sndUna, WorkStatus.LOC_PROT_ERR)
    return
  }
  const at = frame.bth + bth.BYTES + aeth.BYTES
  const high = atomicAckEth.originalHigh(frame.view, at)
  const low = atomicAckEth.originalLow(frame.view, at)
  writeAtomicResult(slot.region!, slot.offset, high, low)
  requester.context.counters.acks++
  accept(requester, now, slot)
}

function accept(requester: Requester, now: Nanos, slot: SendSlot): void {
  requester.context.took = true
  const seq = requester.outbound.sndUna
  requester.acceptResponse(now, slot)
  tellAcked(requester, now, seq)
}
