import type { Frame } from '../../frame/frame.js'
import type { FrameRun } from '../../frame/frame-run.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as atomicAckEth from '../../wire/ib/atomic-ack-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import * as sack from '../../wire/weir/sack.js'
import { Access } from '../memory/memory.js'
import { writePayload } from '../memory/payload.js'
import type { ReorderBuffer } from '../queues/reorder-buffer.js'
import { WorkStatus } from '../queues/work-status.js'
import { refuseAt } from './answers.js'
import type { Inbound } from './inbound.js'
import type { ResponseRecord } from './response-table.js'

/** True if the ACK or NAK that is owed goes next: all responses before it have left. */
export function ackIsNext(inbound: Inbound): boolean {
  const { owed } = inbound
  if (!owed.pending) return false
  const { pending } = inbound.table
  if (pending === null) return true
  // An ACK speaks of its own PSN, a NAK of the one before.
  const acknowledged = owed.isNak ? owed.seq - 1 : owed.seq
  return pending.nextSeq > acknowledged
}

/** Writes the ACK or NAK that is owed; an ACK becomes a SACK while requests are kept that came out of order. */
export function transmitAck(inbound: Inbound, frame: Frame, at: number): void {
  const { kept, owed } = inbound
  const leads = owed.ackLeads
  owed.pending = leads
  owed.ackLeads = false
  inbound.context.counters.acksSent++
  writeAeth(frame, at, leads ? aeth.ACK_UNLIMITED : owed.syndrome, owed.msn)
  const selective = !owed.isNak && kept !== null && kept.count > 0
  let end = at + bth.BYTES + aeth.BYTES
  if (selective) {
    writeBitmap(frame.view, end, kept, inbound.expectedSeq)
    end += sack.BYTES
    inbound.context.counters.sacksSent++
    owed.pending = kept.unnamed.reaches(inbound.expectedSeq)
  }
  endFrame(frame, at, end)
  writeBth(
    inbound,
    frame,
    at,
    selective ? Opcode.SACK : Opcode.RC_ACKNOWLEDGE,
    0,
    leads ? owed.seq - 1 : owed.seq,
  )
  const { duplicates } = inbound
  if (inbound.isSelective && duplicates !== 0) bth.setDuplicates(frame.view, at, duplicates)
}

/**
 * Writes what is kept, from the next request expected on; or up to what no SACK has named yet, if that lies beyond the
 * bitmap's reach.
 */
function writeBitmap(view: DataView, at: number, kept: ReorderBuffer, expectedSeq: number): void {
  const last = kept.unnamed.reaches(expectedSeq) ? kept.unnamed.take() : kept.latestSeq
  const base = Math.max(expectedSeq, last - (sack.BITS - 1))
  sack.write(view, at, base)
  const end = Math.min(base + sack.BITS - 1, kept.highestSeq, expectedSeq + kept.span - 1)
  for (let seq = base; seq <= end; seq++) if (kept.has(seq)) sack.add(view, at, seq - base)
}

/** Writes the result of an atomic, for the first time or again. */
export function transmitAtomicResponse(
  inbound: Inbound,
  record: ResponseRecord,
  frame: Frame,
  at: number,
): void {
  writeAeth(frame, at, aeth.ACK_UNLIMITED, record.msn)
  atomicAckEth.write(frame.view, at + bth.BYTES + aeth.BYTES, record.originalHigh, record.originalLow)
  endFrame(frame, at, at + bth.BYTES + aeth.BYTES + atomicAckEth.BYTES)
  writeBth(inbound, frame, at, Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, record.nextSeq)
  inbound.context.counters.acksSent++
  inbound.table.advance()
}

/** Payload bytes of the next response packet of a READ. */
export function responsePayloadBytes(inbound: Inbound, record: ResponseRecord): number {
  if (record.isAtomic) return 0
  const mtu = inbound.context.settings.pathMtu
  return Math.min(mtu, record.length - (record.nextSeq - record.firstSeq) * mtu)
}

/**
 * Writes the next response packet of a READ. Its opcode gives its place in the READ as it was first requested, even
 * when only the rest is retransmitted: Linux expects that of a responder. False if the memory may no longer be read: the
 * queue pair has failed, and a NAK is owed.
 */
export function transmitReadResponse(
  inbound: Inbound,
  now: Nanos,
  record: ResponseRecord,
  frame: Frame,
  at: number,
): boolean {
  const region = record.region
  if (region !== null && !region.allows(Access.REMOTE_READ)) {
    refuseAt(inbound, now, record.nextSeq, aeth.NAK_REMOTE_ACCESS_ERROR, WorkStatus.LOC_ACCESS_ERR)
    return false
  }
  const length = responsePayloadBytes(inbound, record)
  const opcode = responseOpcode(record)
  let next = at + bth.BYTES
  if (opcode !== Opcode.RC_RDMA_READ_RESPONSE_MIDDLE) {
    writeAeth(frame, at, aeth.ACK_UNLIMITED, record.msn)
    next += aeth.BYTES
  }
  let pad = 0
  if (region === null) endFrame(frame, at, next)
  else {
    const { pathMtu, gathers } = inbound.context.settings
    const skipped = (record.nextSeq - record.firstSeq) * pathMtu
    frame.bth = at
    pad = writePayload(frame, next, region, record.offset + skipped, length, gathers)
  }
  writeBth(inbound, frame, at, opcode, pad, record.nextSeq)
  inbound.context.transmissions++
  inbound.context.counters.responsePacketsSent++
  inbound.context.counters.responseBytesSent += length
  inbound.table.advance()
  return true
}

/**
 * READ responses that may follow the one sent last, and differ from it in PSN and AckReq alone: middle ones of the same READ. 0 where
 * anything else is next.
 */
export function middleResponsesNext({ context, owed, table }: Inbound): number {
  const record = table.pending
  if (record === null || record.isAtomic || owed.pending || !context.responds) return 0
  // The first one has one more header, and the last one too.
  if (record.nextSeq < record.firstSeq + 2) return 0
  if (record.region === null || record.region.backing === null) return 0
  if (!record.region.allows(Access.REMOTE_READ)) return 0
  return Math.max(0, Math.min(record.lastSeq - 1, record.untilSeq) + 1 - record.nextSeq)
}

/** Begins a run of so many of them behind the one sent last: `middleResponsesNext` at most. */
export function beginResponses(
  { context, table }: Inbound,
  head: Frame,
  run: FrameRun,
  packets: number,
): void {
  const { region, offset, nextSeq, firstSeq } = table.pending!
  run.begin(head, packets, region!.backing!, offset + (nextSeq - firstSeq) * context.settings.pathMtu)
}

/** Writes packet `i` of that run, the next response. */
export function transmitInRun({ context, table }: Inbound, run: FrameRun, i: number): void {
  bth.setSequence(run.view, run.bthAt(i), table.pending!.nextSeq, false)
  context.transmissions++
  context.counters.responsePacketsSent++
  context.counters.responseBytesSent += context.settings.pathMtu
  table.advance()
}

function responseOpcode(record: ResponseRecord): number {
  if (record.firstSeq === record.lastSeq) return Opcode.RC_RDMA_READ_RESPONSE_ONLY
  if (record.nextSeq === record.firstSeq) return Opcode.RC_RDMA_READ_RESPONSE_FIRST
  if (record.nextSeq === record.lastSeq) return Opcode.RC_RDMA_READ_RESPONSE_LAST
  return Opcode.RC_RDMA_READ_RESPONSE_MIDDLE
}

function writeAeth(frame: Frame, at: number, syndrome: number, msn: number): void {
  aeth.write(frame.view, at + bth.BYTES, syndrome, msn)
}

function endFrame(frame: Frame, at: number, end: number): void {
  frame.bth = at
  frame.payload = end
  frame.payloadLength = 0
  frame.length = end
  frame.wireLength = end
}

/** Reused for every packet. */
const header = new bth.Bth()

function writeBth(
  inbound: Inbound,
  frame: Frame,
  at: number,
  opcode: number,
  pad: number,
  seq: number,
): void {
  header.opcode = opcode
  header.padCount = pad
  header.destQpn = inbound.context.remoteQpn
  header.psn = seq
  bth.write(frame.view, at, header)
}
