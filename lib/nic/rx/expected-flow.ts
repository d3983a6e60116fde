import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as icrc from '../../wire/ib/icrc.js'
import { EXTENDED_HEADER_BYTES, Opcode } from '../../wire/ib/opcode.js'
import { comesFrom } from '../../wire/net/comes-from.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import * as intShim from '../../wire/telemetry/int-shim.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import * as carriedAck from '../../wire/weir/carried-ack.js'
import type { Flow } from '../flow/flow.js'
import type { FlowTable } from '../flow/flow-table.js'

/** Whole messages that carry no key to be invalidated. */
const IS_WHOLE = new Uint8Array(256)
for (const opcode of [
  Opcode.RC_SEND_ONLY,
  Opcode.RC_SEND_ONLY_WITH_IMM,
  Opcode.RC_RDMA_WRITE_ONLY,
  Opcode.RC_RDMA_WRITE_ONLY_WITH_IMM,
])
  IS_WHOLE[opcode] = 1

/**
 * The flow of a frame that is nothing but what its flow expects, or null. It is a whole message of an established connection between two
 * Weir hosts without a key, by the way that the messages before it came. It has no mark, collects nothing, and brings back an
 * acknowledgement at most. Its offsets are set; those of other frames may be. Most packets of an exchange of single messages are like
 * that: for them nobody asks each question that other packets raise to `parseFrame` and the rx pipeline.
 *
 * @param frame begins with headers that its port has written: of this host's address, without options
 */
export function expectedFlow(frame: Frame, table: FlowTable): Flow | null {
  const { view, length } = frame
  const l3 = ethernet.BYTES
  const v4 = ipv4.version(view, l3) === 4
  const l4 = l3 + (v4 ? ipv4.BYTES : ipv6.BYTES)
  const shim = l4 + udp.BYTES
  if (udp.destinationPort(view, l4) !== udp.PORT_INT) return null
  const ecn = v4 ? ipv4.ecn(view, l3) : ipv6.ecn(view, l3)
  if (ecn === ipv4.ECN_CE || length < shim + carriedAck.BYTES + bth.BYTES + icrc.BYTES) return null
  const at = endOfShim(view, shim)
  if (at < 0 || !isPlain(view, at)) return null
  const opcode = bth.opcode(view, at)
  const payload = at + bth.BYTES + EXTENDED_HEADER_BYTES[opcode]!
  const payloadLength = length - icrc.BYTES - payload - bth.padCount(view, at)
  const flow = table.find(bth.destQpn(view, at))
  if (payloadLength < 0 || flow === null) return null
  frame.l3 = l3
  if (!expects(flow, udp.sourcePort(view, l4)) || !comesFrom(frame, flow.remote)) return null
  frame.l4 = l4
  frame.shim = shim
  frame.intFormat = telemetry.NATIVE
  frame.bth = at
  frame.payload = payload
  frame.payloadLength = payloadLength
  return flow
}

/** Offset behind a shim that is empty, or carries an acknowledgement and nothing else; -1 for any other one. */
function endOfShim(view: DataView, at: number): number {
  const head = view.getInt32(at)
  // Path and N: nothing is known of either.
  if (view.getInt32(at + intShim.PATH_ID) !== 0) return -1
  if (head === carriedAck.HEAD) return at + carriedAck.BYTES
  return head === intShim.EMPTY_ECHO ? at + intShim.BYTES : -1
}

/** A whole message in the default partition, without FECN and BECN. */
function isPlain(view: DataView, at: number): boolean {
  return (
    IS_WHOLE[bth.opcode(view, at)] === 1 &&
    bth.version(view, at) === 0 &&
    bth.partitionKey(view, at) === bth.DEFAULT_PARTITION_KEY &&
    view.getUint8(at + bth.CONGESTION) === 0
  )
}

/** The connection is in its ordinary state, and the peer sends from that port. */
function expects({ ending, peer, path, receiver }: Flow, sourcePort: number): boolean {
  return (
    ending.phase === 'established' &&
    peer.isWeir &&
    peer.guard === null &&
    !peer.challenged &&
    path.doubt === null &&
    path.keptPort === sourcePort &&
    path.peerSourcePort === sourcePort &&
    !receiver.stamps
  )
}
