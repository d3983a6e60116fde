import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { isRcSend, isRcWrite, Opcode } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import type { Inbound } from './inbound.js'
import type { ResponseRecord } from './response-table.js'
import { RequestState } from './states.js'

/**
 * A request that was carried out before: its answer was lost, or the network has duplicated it (IBA 9.7.4.1,
 * 9.7.5.1). A SEND or WRITE is answered with an ACK of all that came in order; a READ is carried out again from the
 * place that it names; of an atomic the kept result is sent once more.
 */
export function duplicate(inbound: Inbound, now: Nanos, frame: Frame, opcode: number): RequestState {
  const { counters } = inbound.context
  counters.duplicates++
  if (isRcSend(opcode) || isRcWrite(opcode)) return RequestState.ACKNOWLEDGE_AGAIN
  const { seq } = inbound
  const selective = inbound.isSelective
  const record = inbound.table.find(seq)
  const isRead = opcode === Opcode.RC_RDMA_READ_REQUEST
  let replays = false
  if (record !== null && record.isAtomic !== isRead) {
    if (!isRead) replays = replayAtomic(inbound, frame, record, selective)
    else if (selective) replays = replayRange(inbound, frame, seq, record)
    else replays = replayRest(inbound, now, frame, seq, record)
  }
  if (replays) return RequestState.RESPOND
  counters.droppedReplay++
  return RequestState.DONE
}

/** Go-back-N: a READ is carried out again from `seq` to its end. */
function replayRest(
  inbound: Inbound,
  now: Nanos,
  frame: Frame,
  seq: number,
  record: ResponseRecord,
): boolean {
  if (!namesPlace(inbound, frame, seq, record)) return false
  if (reth.length(frame.view, frame.bth + bth.BYTES) !== bytesFrom(inbound, seq, record)) return false
  // A READ from its start may follow another that requests the rest.
  if (seq > record.firstSeq) inbound.context.observer.onAnswersTaken(now, seq - 1)
  // What has not been sent yet will be sent anyway.
  if (seq < record.nextSeq) record.nextSeq = seq
  return true
}

/**
 * With selective repeat a READ may request a part alone, of whole packets. A peer that requests all of the rest has received none
 * of it, and the rest may be in flight. The first time only the last response is retransmitted, unless it is still to be sent: it
 * shows the peer what is missing.
 */
function replayRange(inbound: Inbound, frame: Frame, seq: number, record: ResponseRecord): boolean {
  const mtu = inbound.context.settings.pathMtu
  const length = reth.length(frame.view, frame.bth + bth.BYTES)
  const rest = bytesFrom(inbound, seq, record)
  const isPart = length > 0 && length < rest && length % mtu === 0
  if (!isPart && length !== rest) return false
  if (!namesPlace(inbound, frame, seq, record)) return false
  const first = isPart || record.repeated ? seq : record.lastSeq
  if (!isPart) record.repeated = true
  // What has not been sent yet will be sent anyway.
  const last = Math.min(record.nextSeq, isPart ? seq + length / mtu : record.lastSeq + 1) - 1
  return first > last || inbound.table.repeat(first, last)
}

/** Bytes of the READ from the response `seq` on. */
function bytesFrom(inbound: Inbound, seq: number, record: ResponseRecord): number {
  return record.length - (seq - record.firstSeq) * inbound.context.settings.pathMtu
}

/** The repeated READ names the memory that it named at first, as far as `seq`. */
function namesPlace(inbound: Inbound, frame: Frame, seq: number, record: ResponseRecord): boolean {
  if (record.length === 0) return true
  const at = frame.bth + bth.BYTES
  const skipped = (seq - record.firstSeq) * inbound.context.settings.pathMtu
  if (reth.address(frame.view, at) !== record.address + skipped) return false
  return reth.rkey(frame.view, at) === record.region!.key
}

function replayAtomic(inbound: Inbound, frame: Frame, record: ResponseRecord, selective: boolean): boolean {
  if (atomicEth.address(frame.view, frame.bth + bth.BYTES) !== record.address) return false
  // The result of one that has not been answered yet will be sent anyway.
  if (record.isPending) return true
  if (selective) return inbound.table.repeat(record.firstSeq, record.lastSeq)
  record.nextSeq = record.firstSeq
  return true
}
