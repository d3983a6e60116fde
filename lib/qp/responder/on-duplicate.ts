import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { isRcSend, isRcWrite, Opcode } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import type { Inbound } from './inbound.js'

/** What the responder owes for a request that has come again. */
export const Again = { NOTHING: 0, ACK: 1, RESPONSES: 2 } as const
export type Again = (typeof Again)[keyof typeof Again]

/**
 * A request that was carried out before: its answer was lost, or the network has duplicated it (IBA 9.7.4.1,
 * 9.7.5.1). A SEND or WRITE is answered with an ACK of all that came in order; a READ is carried out again from the
 * place that it names; of an atomic the kept result is sent once more.
 *
 * With selective repeat a READ may request a part alone, of whole packets. A peer that requests all of the rest has received none
 * of it, and the rest may be in flight. The first time only the last response is retransmitted, unless it is still to be sent: it
 * shows the peer what is missing.
 *
 * @param both ends do selective repeat
 */
export function onDuplicate(
  inbound: Inbound,
  now: Nanos,
  frame: Frame,
  opcode: number,
  seq: number,
  selective: boolean,
): Again {
  const { counters } = inbound.context
  counters.duplicates++
  if (isRcSend(opcode) || isRcWrite(opcode)) return Again.ACK
  const replays =
    opcode === Opcode.RC_RDMA_READ_REQUEST
      ? replayRead(inbound, now, frame, seq, selective)
      : replayAtomic(inbound, frame, seq)
  if (replays) return Again.RESPONSES
  counters.droppedReplay++
  return Again.NOTHING
}

function replayRead(inbound: Inbound, now: Nanos, frame: Frame, seq: number, selective: boolean): boolean {
  const record = inbound.table.find(seq)
  if (record === null || record.isAtomic) return false
  const at = frame.bth + bth.BYTES
  const mtu = inbound.context.settings.pathMtu
  const skipped = (seq - record.firstSeq) * mtu
  const length = reth.length(frame.view, at)
  const isPart = selective && length > 0 && length < record.length - skipped && length % mtu === 0
  if (!isPart && length !== record.length - skipped) return false
  if (record.length > 0) {
    if (reth.address(frame.view, at) !== record.address + skipped) return false
    if (reth.rkey(frame.view, at) !== record.region!.key) return false
  }
  if (isPart) return inbound.table.replayPart(seq, seq + length / mtu - 1)
  const from = !selective || record.repeated ? seq : record.lastSeq
  // A READ from its start may follow another that requests the rest. A tail probe of selective repeat has missed nothing.
  if (!selective && skipped > 0) inbound.context.observer.onAnswersTaken(now, seq - 1)
  record.repeated = true
  // What has not been sent yet will be sent anyway.
  if (from < record.nextSeq) record.nextSeq = from
  return true
}

function replayAtomic(inbound: Inbound, frame: Frame, seq: number): boolean {
  const record = inbound.table.find(seq)
  if (record === null || !record.isAtomic) return false
  const at = frame.bth + bth.BYTES
  if (atomicEth.address(frame.view, at) !== record.address) return false
  record.nextSeq = seq
  return true
}
