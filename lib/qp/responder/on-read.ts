import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import * as reth from '../../wire/ib/reth.js'
import { Access, type MemoryRegion } from '../memory/memory.js'
import { packetsOf } from '../queues/psn.js'
import { MESSAGE_BYTES_MAX } from '../queues/send-queue.js'
import type { Inbound } from './inbound.js'
import { Verdict } from './verdict.js'

/** An RDMA READ request, in order (IBA 9.4.4): its response takes as many PSNs as packets. */
export function onRead(inbound: Inbound, now: Nanos, frame: Frame): Verdict {
  const settings = inbound.context.settings
  const at = frame.bth + bth.BYTES
  const length = reth.length(frame.view, at)
  if ((settings.access & Access.REMOTE_READ) === 0 || length > MESSAGE_BYTES_MAX) return Verdict.INVALID
  const address = reth.address(frame.view, at)
  const region = settings.memory.findIn(settings.domain, reth.rkey(frame.view, at))
  if (length > 0 && !mayRead(region, address, length)) return Verdict.NO_ACCESS
  const record = inbound.table.take()
  // Null: more READs and atomics at a time than was agreed (IBA 9.7.4.1).
  if (record === null) return Verdict.INVALID
  // What the record held before was answered, and the peer has that answer.
  if (record.lastSeq >= 0) inbound.context.observer.onAnswersTaken(now, record.lastSeq)
  const packets = packetsOf(length, settings.pathMtu)
  record.isAtomic = false
  record.firstSeq = inbound.expectedSeq
  record.lastSeq = inbound.expectedSeq + packets - 1
  record.nextSeq = record.firstSeq
  record.untilSeq = record.lastSeq
  record.msn = ++inbound.msn
  record.region = length > 0 ? region : null
  record.offset = length > 0 ? address - region!.address : 0
  record.length = length
  record.address = address
  inbound.responsePackets = packets
  return Verdict.ANSWERED
}

function mayRead(region: MemoryRegion | null, address: number, length: number): boolean {
  if (region === null || !region.allows(Access.REMOTE_READ)) return false
  return region.holds(address - region.address, length)
}
