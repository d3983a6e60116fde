/** Decodes a captured packet for programs. It allocates, so it is not for the packet path. */
import { Frame } from '../frame/frame.js'
import * as bth from '../wire/ib/bth.js'
import * as icrc from '../wire/ib/icrc.js'
import { opcodeName } from '../wire/ib/opcode.js'
import { formatIpv4, formatIpv6 } from '../wire/net/address.js'
import * as ethernet from '../wire/net/ethernet.js'
import * as ipv4 from '../wire/net/ipv4.js'
import * as ipv6 from '../wire/net/ipv6.js'
import { formatMac } from '../wire/net/mac.js'
import * as pfc from '../wire/net/pfc.js'
import * as udp from '../wire/net/udp.js'
import * as vxlan from '../wire/net/vxlan.js'
import { isShort, parseFrame, WIRE_ERROR_NAMES, WireError } from '../wire/parse.js'
import { printFrame } from '../wire/print.js'
import { HopRecords } from '../wire/telemetry/hop-records.js'
import * as intShim from '../wire/telemetry/int-shim.js'
import * as telemetry from '../wire/telemetry/telemetry.js'
import * as carriedAck from '../wire/weir/carried-ack.js'
import type { CapturedPacket } from './captured-packet.js'
import { decodeAeth, decodeExtended } from './decode-extended.js'
import type {
  BaseTransportHeader,
  CarriedAck,
  EthernetHeader,
  IcrcVerdict,
  IpHeader,
  Packet,
  Telemetry,
  UdpHeader,
} from './packet.js'

const ECN_NAMES = ['not-ect', 'ect1', 'ect0', 'ce'] as const
const PRIORITIES = [0, 1, 2, 3, 4, 5, 6, 7]
const NANOS = 1_000_000_000n
/** Packets within packets that are decoded. */
const NESTING_MAX = 4

/**
 * @param frame the packet after `loadFrame`
 * @param number its place in the file, from 1
 * @param depth how many packets it is in
 */
export function decodePacket(captured: CapturedPacket, frame: Frame, number: number, depth = 0): Packet {
  const text = printFrame(frame)
  const error = parseFrame(frame)
  const bytes = new Uint8Array(frame.bytes.subarray(0, frame.length))
  const end = Math.min(frame.payload + frame.payloadLength, frame.length)
  return {
    number,
    timeNs: BigInt(captured.seconds) * NANOS + BigInt(captured.nanos),
    wireBytes: frame.wireLength,
    bytes,
    fault: faultOf(frame, error),
    ethernet: decodeEthernet(frame),
    pfcQuanta: decodePfc(frame),
    ip: frame.l3 < 0 ? null : decodeIp(frame),
    udp: frame.l4 < 0 ? null : decodeUdp(frame),
    vxlan: decodeVxlan(captured, frame, { number, depth }),
    telemetry: frame.shim < 0 || frame.bth < 0 || carriedAck.isIn(frame) ? null : decodeTelemetry(frame),
    carriedAck: frame.bth >= 0 && carriedAck.isIn(frame) ? decodeCarriedAck(frame) : null,
    bth: frame.bth < 0 ? null : decodeBth(frame),
    extended: frame.payload < 0 ? {} : decodeExtended(frame.view, frame.bth),
    payloadBytes: frame.payloadLength,
    payload: frame.payload < 0 ? bytes.subarray(0, 0) : bytes.subarray(frame.payload, end),
    icrc: frame.bth < 0 ? null : icrcVerdict(frame),
    text,
  }
}

/** A packet that was captured too short may be sound. */
function faultOf(frame: Frame, error: WireError): string | null {
  if (error === WireError.OK) return null
  const isCut = isShort(error) && frame.length < frame.wireLength
  return `${isCut ? 'captured too short' : 'malformed'}: ${WIRE_ERROR_NAMES[error]}`
}

/** Returns the verdict on the ICRC of a parsed frame that has a BTH. */
function icrcVerdict(frame: Frame): IcrcVerdict {
  if (!icrc.isPresent(frame)) return 'absent'
  if (icrc.verifyOrWithZeroId(frame)) return 'right'
  return icrc.isZero(frame) ? 'unused' : 'wrong'
}

function decodeEthernet({ view, length }: Frame): EthernetHeader | null {
  if (ethernet.check(view, 0, length) !== WireError.OK) return null
  return {
    source: formatMac(ethernet.source(view, 0)),
    destination: formatMac(ethernet.destination(view, 0)),
    type: ethernet.etherType(view, 0),
    vlan: ethernet.hasVlan(view, 0)
      ? { id: ethernet.vlanId(view, 0), priority: ethernet.vlanPriority(view, 0) }
      : null,
  }
}

function decodePfc({ view, length }: Frame): (number | null)[] | null {
  if (!pfc.isPfc(view, 0, length) || pfc.check(view, 0, length) !== WireError.OK) return null
  return PRIORITIES.map(one => (pfc.isEnabled(view, 0, one) ? pfc.quanta(view, 0, one) : null))
}

function decodeIp({ view, bytes, l3 }: Frame): IpHeader {
  if (ipv4.version(view, l3) === 4) {
    return {
      version: 4,
      source: formatIpv4(ipv4.source(view, l3)),
      destination: formatIpv4(ipv4.destination(view, l3)),
      dscp: ipv4.dscp(view, l3),
      ecn: ECN_NAMES[ipv4.ecn(view, l3)]!,
      ttl: ipv4.ttl(view, l3),
      protocol: ipv4.protocol(view, l3),
    }
  }
  return {
    version: 6,
    source: formatIpv6(bytes, l3 + 8),
    destination: formatIpv6(bytes, l3 + 24),
    dscp: ipv6.dscp(view, l3),
    ecn: ECN_NAMES[ipv6.ecn(view, l3)]!,
    ttl: ipv6.hopLimit(view, l3),
    protocol: ipv6.nextHeader(view, l3),
  }
}

function decodeUdp({ view, l4 }: Frame): UdpHeader {
  return {
    sourcePort: udp.sourcePort(view, l4),
    destinationPort: udp.destinationPort(view, l4),
    bytes: udp.length(view, l4) - udp.BYTES,
  }
}

function decodeVxlan(
  captured: CapturedPacket,
  frame: Frame,
  { number, depth }: { number: number; depth: number },
): Packet['vxlan'] {
  const { view, l4 } = frame
  if (l4 < 0 || depth === NESTING_MAX || udp.destinationPort(view, l4) !== udp.PORT_VXLAN) return null
  const at = l4 + udp.BYTES
  const wireEnd = l4 + udp.length(view, l4)
  const end = Math.min(wireEnd, frame.length)
  if (vxlan.check(view, at, end) !== WireError.OK) return null
  const inner = new Frame(0, frame.bytes.subarray(at + vxlan.BYTES, end))
  inner.ifaProtocol = frame.ifaProtocol
  inner.length = inner.bytes.length
  inner.wireLength = wireEnd - at - vxlan.BYTES
  return { vni: vxlan.vni(view, at), inner: decodePacket(captured, inner, number, depth + 1) }
}

function decodeBth({ view, bth: at }: Frame): BaseTransportHeader {
  const opcode = bth.opcode(view, at)
  return {
    opcode,
    opcodeName: opcodeName(opcode),
    psn: bth.psn(view, at),
    destinationQp: bth.destQpn(view, at),
    partitionKey: bth.partitionKey(view, at),
    ackRequest: bth.ackRequest(view, at),
    solicited: bth.solicited(view, at),
    fecn: bth.fecn(view, at),
    becn: bth.becn(view, at),
  }
}

function decodeCarriedAck(frame: Frame): CarriedAck {
  return {
    psn: carriedAck.psn(frame),
    aeth: decodeAeth(frame.view, carriedAck.aethAt(frame)),
    duplicates: carriedAck.duplicates(frame),
  }
}

function decodeTelemetry(frame: Frame): Telemetry | null {
  const records = new HopRecords()
  if (telemetry.read(frame, records) !== WireError.OK) return null
  const isNative = frame.intFormat <= intShim.FORMAT_COMPACT
  const format = isNative ? intShim.format(frame.view, frame.shim) : frame.intFormat
  const { pathId, flows, overflow, count } = records
  const hops = Array.from({ length: count }, (_, i) => ({
    switchId: records.switchId[i]!,
    port: records.port[i]!,
    rateBps: records.rateBps[i]!,
    timeNs: records.tsNs[i]!,
    txBytes: records.txBytes[i]!,
    queueBytes: records.qlenBytes[i]!,
  }))
  return {
    format: telemetry.FORMAT_NAMES[format]!,
    echo: telemetry.isEcho(frame),
    pathId,
    flows,
    overflow,
    hops,
  }
}
