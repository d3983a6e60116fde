import { assert } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import * as ieth from '../../wire/ib/ieth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasIeth, hasImmediate, hasReth, Opcode } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { Access } from '../memory/memory.js'
import { writePayload } from '../memory/payload.js'
import { messageOpcode } from '../queues/message-opcode.js'
import type { SendSlot } from '../queues/send-queue.js'
import { WorkOpcode } from '../queues/work.js'
import { WorkStatus } from '../queues/work-status.js'
import type { Requester } from './requester.js'

/** Payload bytes of the packet `seq` of that work request. */
export function requestPayloadBytes(requester: Requester, slot: SendSlot, seq: number): number {
  if (slot.awaitsResponse) return 0
  const mtu = requester.context.settings.pathMtu
  return Math.min(mtu, slot.length - (seq - slot.firstSeq) * mtu)
}

/**
 * Writes the request packet `seq` of `slot` from `at` on: `sendSeq`, or one that was lost. False if the memory of the
 * work request may no longer be used: the work request, and the queue pair with it, has failed then.
 */
export function transmitRequest(
  requester: Requester,
  now: Nanos,
  slot: SendSlot,
  seq: number,
  frame: Frame,
  at: number,
): boolean {
  if (!slot.region!.allows(slot.awaitsResponse ? Access.LOCAL_WRITE : 0)) {
    requester.failAt(now, slot.firstSeq, WorkStatus.LOC_PROT_ERR)
    return false
  }
  frame.bth = at
  const { doubts } = requester
  const repairs = doubts?.hasLost === true
  let psns = slot.lastSeq + 1 - seq
  const isNew = seq >= requester.outbound.sndNxt
  if (repairs) psns = doubts.resend(now, slot, seq)
  else if (!isNew) requester.selective?.resend(now, slot, seq)
  if (slot.opcode === WorkOpcode.RDMA_READ) writeRead(requester, slot, seq, psns, frame, at)
  else if (slot.awaitsResponse) writeAtomic(requester, slot, seq, frame, at)
  else writeMessage(requester, slot, seq, repairs, frame, at)
  count(requester, now, seq, isNew, frame.payloadLength)
  requester.outbound.trips.onSent(now, seq, isNew)
  if (requester.tail !== null) {
    const lastSeq = slot.awaitsResponse ? slot.lastSeq : seq
    const asks = bth.ackRequest(frame.view, at)
    requester.tail.onSent(now, lastSeq, asks, asks ? requester.timers.timeoutNs : 0)
  }
  if (!repairs) advance(requester, now, slot)
  return true
}

function writeMessage(
  requester: Requester,
  slot: SendSlot,
  seq: number,
  repairs: boolean,
  frame: Frame,
  at: number,
): void {
  const view = frame.view
  const sentBytes = (seq - slot.firstSeq) * requester.context.settings.pathMtu
  const payloadBytes = requestPayloadBytes(requester, slot, seq)
  const opcode = messageOpcode(slot, seq)
  let next = at + bth.BYTES
  if (hasReth(opcode)) {
    reth.write(view, next, slot.remoteAddress, slot.rkey, slot.length)
    next += reth.BYTES
  }
  if (hasImmediate(opcode)) {
    immdt.write(view, next, slot.immediate)
    next += immdt.BYTES
  }
  if (hasIeth(opcode)) {
    ieth.write(view, next, slot.invalidateKey)
    next += ieth.BYTES
  }
  const { gathers } = requester.context.settings
  const pad = writePayload(frame, next, slot.region!, slot.offset + sentBytes, payloadBytes, gathers)
  // The answer shows at once whether the retransmission closed the gap.
  const asks = repairs || wantsAck(requester, slot)
  if (!repairs) requester.outbound.unaskedPackets = asks ? 0 : requester.outbound.unaskedPackets + 1
  writeBth(requester, frame, at, opcode, pad, asks, seq)
  // The SE bit is in the last packet of a message (IBA 9.2.3).
  if (slot.solicited && seq === slot.lastSeq) bth.setSolicited(view, at, true)
}

/**
 * A READ that is repeated from its middle requests the rest, at the PSN of the rest (IBA 9.7.6). With selective repeat it
 * requests the `psns` packets that were lost.
 */
function writeRead(
  requester: Requester,
  slot: SendSlot,
  seq: number,
  psns: number,
  frame: Frame,
  at: number,
): void {
  const mtu = requester.context.settings.pathMtu
  const hadBytes = (seq - slot.firstSeq) * mtu
  const next = at + bth.BYTES
  const bytes = Math.min(slot.length - hadBytes, psns * mtu)
  reth.write(frame.view, next, slot.remoteAddress + hadBytes, slot.rkey, bytes)
  endHeaders(frame, next + reth.BYTES)
  requester.outbound.unaskedPackets = 0
  writeBth(requester, frame, at, Opcode.RC_RDMA_READ_REQUEST, 0, true, seq)
}

/** Reused for every atomic. */
const atomic: atomicEth.AtomicEth = {
  address: 0,
  rkey: 0,
  swapOrAddHigh: 0,
  swapOrAddLow: 0,
  compareHigh: 0,
  compareLow: 0,
}

function writeAtomic(requester: Requester, slot: SendSlot, seq: number, frame: Frame, at: number): void {
  const isSwap = slot.opcode === WorkOpcode.COMPARE_AND_SWAP
  const next = at + bth.BYTES
  atomic.address = slot.remoteAddress
  atomic.rkey = slot.rkey
  atomic.swapOrAddHigh = isSwap ? slot.swapHigh : slot.compareOrAddHigh
  atomic.swapOrAddLow = isSwap ? slot.swapLow : slot.compareOrAddLow
  atomic.compareHigh = isSwap ? slot.compareOrAddHigh : 0
  atomic.compareLow = isSwap ? slot.compareOrAddLow : 0
  atomicEth.write(frame.view, next, atomic)
  endHeaders(frame, next + atomicEth.BYTES)
  requester.outbound.unaskedPackets = 0
  writeBth(requester, frame, at, isSwap ? Opcode.RC_COMPARE_SWAP : Opcode.RC_FETCH_ADD, 0, true, seq)
}

function endHeaders(frame: Frame, end: number): void {
  frame.payload = end
  frame.payloadLength = 0
  frame.length = end
  frame.wireLength = end
}

/** Reused for every packet. */
const header = new bth.Bth()

function writeBth(
  requester: Requester,
  frame: Frame,
  at: number,
  opcode: number,
  pad: number,
  ackRequest: boolean,
  seq: number,
): void {
  header.opcode = opcode
  header.padCount = pad
  header.destQpn = requester.context.remoteQpn
  header.ackRequest = ackRequest
  header.psn = seq
  bth.write(frame.view, at, header)
}

/**
 * True on the last packet, at regular intervals in a long message, and where the sender is about to wait for an
 * answer.
 */
export function wantsAck(requester: Requester, slot: SendSlot): boolean {
  const seq = requester.outbound.sendSeq
  if (seq === slot.lastSeq || requester.isAlone) return true
  const settings = requester.context.settings
  const bound = settings.maxPacketsInFlight
  const every = Math.min(settings.ackRequestEveryPackets, Math.max(1, bound >>> 1))
  return requester.outbound.unaskedPackets + 1 >= every || seq + 1 - requester.outbound.sndUna >= bound
}

function count(requester: Requester, now: Nanos, seq: number, isNew: boolean, payloadBytes: number): void {
  const { context, sndUna, sndNxt } = requester.outbound
  const { counters } = context
  requester.outbound.log.record(seq, now, context.transmissions++, !isNew, sndUna)
  counters.requestPackets++
  if (isNew) counters.requestBytes += payloadBytes
  else {
    counters.retransmittedPackets++
    counters.retransmittedBytes += payloadBytes
    requester.outbound.spurious.onRepeat(sndNxt)
  }
  requester.outbound.inFlightBytes += payloadBytes
  requester.timers.onSent(now)
}

function advance(requester: Requester, now: Nanos, slot: SendSlot): void {
  if (slot.awaitsResponse) {
    requester.outbound.awaitResponse(slot)
  } else requester.outbound.sendSeq++
  requester.outbound.sendIndex += requester.outbound.sendSeq > slot.lastSeq ? 1 : 0
  if (requester.outbound.sendSeq < requester.outbound.sndNxt) requester.skipSacked(now)
  else requester.outbound.sndNxt = requester.outbound.sendSeq
  assert(
    requester.outbound.sndNxt <= requester.context.sendQueue.nextSeq,
    'requester: sent a PSN of no work request',
  )
}
