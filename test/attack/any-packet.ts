/** Packets of all opcodes with random fields, as a peer sends that is mad or broken, or knows no RoCEv2. */
import type { Frame } from '../../lib/frame/frame.js'
import type { Nic } from '../../lib/nic/nic.js'
import { beginFrame, completeHeaders, prepareHeaders } from '../../lib/nic/tx/headers.js'
import type { Random } from '../../lib/sim/random.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { EXTENDED_HEADER_BYTES, Opcode } from '../../lib/wire/ib/opcode.js'
import type { HostAddress } from '../../lib/wire/net/address.js'
import { parseMac } from '../../lib/wire/net/mac.js'
import * as udp from '../../lib/wire/net/udp.js'
import type { Pair } from '../nic/pair.js'

const MAC = parseMac('02:00:00:00:00:09')
const PAYLOAD_MAX = 300

interface AnyPacket {
  from: HostAddress
  sourcePort: number
  opcode: number
  qpn: number
  psn: number
  /** One of four packets has a wrong one. */
  rightIcrc: boolean
  /** Where a DETH has its Q_Key, if not random. */
  qkey?: number
}

/** Writes the packet into a frame as it comes from a wire: what `packet` does not say is random. */
function writeAny(frame: Frame, to: HostAddress, packet: AnyPacket, random: Random): void {
  const { from, sourcePort, opcode, qpn, psn, qkey } = packet
  const at = beginFrame(frame, prepareHeaders({ from, to, fromMac: MAC, toMac: MAC }, sourcePort))
  const forManagement = qpn === deth.QPN_GSI && random.below(2) === 0
  // Some are shorter than their opcode's headers.
  const payload = forManagement ? mad.BYTES : random.below(8) === 0 ? 0 : random.below(PAYLOAD_MAX)
  const extended = random.below(16) === 0 ? random.below(8) : EXTENDED_HEADER_BYTES[opcode]!
  const end = at + bth.BYTES + extended + payload
  for (let i = at; i < end; i++) frame.bytes[i] = random.u32()
  frame.bth = at
  frame.length = frame.wireLength = end + icrc.BYTES
  // Half of them have a sound version, pad and partition.
  if (random.below(2) === 0) bth.write(frame.view, at, new bth.Bth({ solicited: random.below(2) === 0 }))
  frame.view.setUint8(at, opcode)
  frame.view.setUint32(at + 4, ((frame.view.getUint8(at + 4) << 24) | qpn) >>> 0)
  bth.setPsn(frame.view, at, psn)
  if (qkey !== undefined && extended >= deth.BYTES)
    deth.write(frame.view, at + bth.BYTES, qkey, random.below(1 << 24))
  if (forManagement) writeManagement(frame, at + bth.BYTES, random)
  completeHeaders(frame, random.below(16) === 0 ? udp.PORT_INT : udp.PORT_ROCE)
  if (packet.rightIcrc) icrc.write(frame)
  frame.l3 = -1
  frame.bth = -1
}

/** A datagram that reaches the connection manager, whose messages have random fields. */
function writeManagement(frame: Frame, at: number, random: Random): void {
  const { view } = frame
  view.setUint8(at - bth.BYTES, Opcode.UD_SEND_ONLY)
  deth.write(view, at, deth.QKEY_GSI, random.u32())
  const message = frame.length - icrc.BYTES - mad.BYTES
  if (random.below(4) === 0) return
  const kept = frame.bytes.slice(message + 24, message + mad.BYTES)
  mad.write(view, message, 0x0f + random.below(12), BigInt(random.u32()))
  frame.bytes.set(kept, message + 24)
}

/** Hands the packet to the NIC. */
export function sendAny(pair: Pair, to: Nic, packet: AnyPacket, random: Random): void {
  const frame = pair.pool.take()!
  writeAny(frame, to.address, packet, random)
  to.onFrame(pair.network.now, 0, frame)
}
