import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import * as reth from '../../wire/ib/reth.js'
import { packetsOf } from '../queues/psn.js'
import type { Inbound } from './inbound.js'
import { RequestState } from './states.js'

/** An RDMA READ request (IBA 9.4.4): its responses take as many PSNs as packets. */
export function executeRead(inbound: Inbound, now: Nanos, frame: Frame): RequestState {
  const record = inbound.table.newest
  // What the record held before was answered, and the peer has that answer.
  if (record.lastSeq >= 0) inbound.context.observer.onAnswersTaken(now, record.lastSeq)
  const at = frame.bth + bth.BYTES
  const length = reth.length(frame.view, at)
  record.isAtomic = false
  record.firstSeq = inbound.expectedSeq
  record.lastSeq = inbound.expectedSeq + packetsOf(length, inbound.context.settings.pathMtu) - 1
  record.nextSeq = record.firstSeq
  record.untilSeq = record.lastSeq
  record.msn = ++inbound.msn
  record.region = inbound.region
  record.offset = inbound.offset
  record.length = length
  record.address = reth.address(frame.view, at)
  inbound.region = null
  return RequestState.ADVANCE
}
