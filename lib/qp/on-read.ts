import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import * as bth from '../wire/bth.js'
import * as reth from '../wire/reth.js'
import { Access, type MemoryRegion } from './memory.js'
import { packetsOf } from './psn.js'
import type { Responder } from './responder.js'
import { MESSAGE_BYTES_MAX } from './send-queue.js'
import { WorkStatus } from './work-status.js'

/** An RDMA READ request, in order (IBA 9.4.4): its response takes as many PSNs as packets. */
export function onRead(responder: Responder, now: Nanos, frame: Frame): void {
  const settings = responder.context.settings
  const at = frame.bth + bth.BYTES
  const length = reth.length(frame.view, at)
  if ((settings.access & Access.REMOTE_READ) === 0 || length > MESSAGE_BYTES_MAX) {
    responder.refuse(now, aeth.NAK_INVALID_REQUEST, WorkStatus.REM_INV_REQ_ERR)
    return
  }
  const address = reth.address(frame.view, at)
  const region = settings.memory.findIn(settings.domain, reth.rkey(frame.view, at))
  if (length > 0 && !mayRead(region, address, length)) {
    responder.refuse(now, aeth.NAK_REMOTE_ACCESS_ERROR, WorkStatus.LOC_ACCESS_ERR)
    return
  }
  const record = responder.table.take()
  if (record === null) {
    // More READs and atomics at a time than was agreed (IBA 9.7.4.1).
    responder.refuse(now, aeth.NAK_INVALID_REQUEST, WorkStatus.REM_INV_REQ_ERR)
    return
  }
  // What the record held before was answered, and the peer has that answer.
  if (record.lastSeq >= 0) responder.context.observer.onAnswersTaken(now, record.lastSeq)
  const packets = packetsOf(length, settings.pathMtu)
  record.isAtomic = false
  record.firstSeq = responder.expectedSeq
  record.lastSeq = responder.expectedSeq + packets - 1
  record.nextSeq = record.firstSeq
  record.untilSeq = record.lastSeq
  record.msn = ++responder.msn
  record.region = length > 0 ? region : null
  record.offset = length > 0 ? address - region!.address : 0
  record.length = length
  record.address = address
  responder.acceptResponding(packets)
}

function mayRead(region: MemoryRegion | null, address: number, length: number): boolean {
  if (region === null || !region.allows(Access.REMOTE_READ)) return false
  return region.holds(address - region.address, length)
}
