import { Frame } from '../frame/frame.js'
import * as cmMessages from './cm/cm-messages.js'
import * as aeth from './ib/aeth.js'
import * as atomicAckEth from './ib/atomic-ack-eth.js'
import * as atomicEth from './ib/atomic-eth.js'
import * as bth from './ib/bth.js'
import * as deth from './ib/deth.js'
import * as ieth from './ib/ieth.js'
import * as immdt from './ib/immdt.js'
import { isKnock } from './ib/knock.js'
import * as opcodes from './ib/opcode.js'
import * as reth from './ib/reth.js'
import { formatIpv4, formatIpv6 } from './net/address.js'
import * as arp from './net/arp.js'
import * as ethernet from './net/ethernet.js'
import * as ipv4 from './net/ipv4.js'
import * as ipv6 from './net/ipv6.js'
import * as lldp from './net/lldp.js'
import * as pfc from './net/pfc.js'
import * as udp from './net/udp.js'
import * as vxlan from './net/vxlan.js'
import { isShort, parseFrame, WIRE_ERROR_NAMES, WireError } from './parse.js'
import * as telemetry from './telemetry/telemetry.js'
import * as arrival from './weir/arrival.js'
import * as carriedAck from './weir/carried-ack.js'
import * as delayedAck from './weir/delayed-ack.js'
import * as fairRate from './weir/fair-rate.js'
import * as rate from './weir/rate.js'
import * as rateRequest from './weir/rate-request.js'
import * as sack from './weir/sack.js'

/** Nested VXLAN headers that are printed. */
const NESTING_MAX = 4
const TYPE_NAMES = new Map([
  [ethernet.TYPE_ARP, 'ARP'],
  [ethernet.TYPE_IPV4, 'IP'],
  [ethernet.TYPE_IPV6, 'IP6'],
  [ethernet.TYPE_MAC_CONTROL, 'MAC control'],
])
const PROTOCOL_NAMES = new Map([
  [ipv4.PROTOCOL_ICMP, 'ICMP'],
  [ipv4.PROTOCOL_TCP, 'TCP'],
  [ipv4.PROTOCOL_UDP, 'UDP'],
  [58, 'ICMP6'],
])

/**
 * Prints a frame on one line, like tcpdump. Parses it first. It is for people: it allocates, and throws for
 * no input.
 *
 * @param port printed in place of the UDP destination port in the header
 */
export function printFrame(frame: Frame, port?: number): string {
  return printNested(frame, 0, port)
}

/** A packet that was captured too short may be sound. */
function faultOf(frame: Frame, error: WireError): string {
  const isCut = isShort(error) && frame.length < frame.wireLength
  return `${isCut ? 'captured too short' : 'malformed'}: ${WIRE_ERROR_NAMES[error]}`
}

function printNested(frame: Frame, depth: number, port?: number): string {
  const error = parseFrame(frame)
  const fault = error === WireError.OK || isKnock(frame) ? '' : ` [${faultOf(frame, error)}]`
  if (frame.l3 < 0) return printLink(frame) + fault
  if (frame.l4 < 0) return `${printHosts(frame)}: ${protocolName(frame)}, length ${ipLength(frame)}${fault}`
  const head = printHosts(frame, port ?? udp.destinationPort(frame.view, frame.l4))
  if (isKnock(frame)) return `${head}: knock (does anything listen?)${fault}`
  if (frame.bth >= 0) return `${head}: ${printRoce(frame)}${fault}`
  if (error === WireError.OK && udp.destinationPort(frame.view, frame.l4) === udp.PORT_VXLAN) {
    return `${head}: ${printVxlan(frame, depth)}`
  }
  return `${head}: UDP, length ${udp.length(frame.view, frame.l4) - udp.BYTES}${fault}`
}

/** Prints frames without IP: ARP, PFC, and any other. */
function printLink(frame: Frame): string {
  const view = frame.view
  if (frame.length < ethernet.BYTES) return `${frame.length} bytes`
  if (ethernet.check(view, 0, frame.length) !== WireError.OK) return 'Ethernet'
  if (pfc.check(view, 0, frame.length) === WireError.OK) return pfc.print(view, 0)
  const payload = ethernet.headerBytes(view, 0)
  const type = ethernet.etherType(view, 0)
  if (type === ethernet.TYPE_LLDP && lldp.check(view, payload, frame.length) === WireError.OK) {
    return lldp.print(view, payload, frame.length)
  }
  if (type === ethernet.TYPE_ARP && arp.check(view, payload, frame.length)) return arp.print(view, payload)
  const name = TYPE_NAMES.get(type)
  return name === undefined ? `${ethernet.print(view, 0)}, length ${frame.wireLength}` : name
}

/** Prints `IP 10.0.0.1.49152 > 10.0.0.2.4791`, and unusual fields of the IP header. */
function printHosts(frame: Frame, destinationPort?: number): string {
  const { view, l3, l4 } = frame
  const from = destinationPort === undefined ? '' : `.${udp.sourcePort(view, l4)}`
  const to = destinationPort === undefined ? '' : `.${destinationPort}`
  const tag = ethernet.hasVlan(view, 0) ? `vlan ${ethernet.vlanId(view, 0)} ` : ''
  if (ipv4.version(view, l3) === 4) {
    const mark = ECN_NAMES[ipv4.ecn(view, l3)]
    const fragment = ipv4.isFragment(view, l3) ? ` frag ${ipv4.fragmentOffset(view, l3) * 8}` : ''
    const source = formatIpv4(ipv4.source(view, l3))
    return `${tag}IP ${source}${from} > ${formatIpv4(ipv4.destination(view, l3))}${to}${mark}${fragment}`
  }
  const mark = ECN_NAMES[ipv6.ecn(view, l3)]
  return `${tag}IP6 ${formatIpv6(frame.bytes, l3 + 8)}${from} > ${formatIpv6(frame.bytes, l3 + 24)}${to}${mark}`
}

const ECN_NAMES = ['', ' ect1', ' ect0', ' ce']

function protocolName(frame: Frame): string {
  const isIpv4 = ipv4.version(frame.view, frame.l3) === 4
  const protocol = isIpv4 ? ipv4.protocol(frame.view, frame.l3) : ipv6.nextHeader(frame.view, frame.l3)
  return PROTOCOL_NAMES.get(protocol) ?? `protocol ${protocol}`
}

/** Bytes of IP payload. */
function ipLength(frame: Frame): number {
  const { view, l3 } = frame
  if (ipv4.version(view, l3) === 6) return ipv6.payloadLength(view, l3)
  return ipv4.totalLength(view, l3) - ipv4.headerBytes(view, l3)
}

function printRoce(frame: Frame): string {
  const { view, shim } = frame
  const parts = shim >= 0 ? [telemetry.print(frame)] : []
  if (carriedAck.isIn(frame)) parts.push(carriedAck.print(frame))
  parts.push(bth.print(view, frame.bth))
  if (frame.payload < 0) return parts.join(', ')
  parts.push(...printExtendedHeaders(view, frame.bth))
  const mad = printMad(frame)
  if (mad !== '') parts.push(mad)
  else if (frame.payloadLength > 0) parts.push(`payload ${frame.payloadLength}`)
  return parts.join(', ')
}

function printExtendedHeaders(view: DataView, bthAt: number): string[] {
  const opcode = bth.opcode(view, bthAt)
  const parts: string[] = []
  let at = bthAt + bth.BYTES
  const add = (codec: { BYTES: number; print(view: DataView, at: number): string }) => {
    parts.push(codec.print(view, at))
    at += codec.BYTES
  }
  if (opcodes.hasDeth(opcode)) add(deth)
  if (opcodes.hasReth(opcode)) add(reth)
  if (opcodes.hasAtomicEth(opcode)) add(atomicEth)
  if (opcodes.hasAeth(opcode)) add(aeth)
  if (opcodes.hasAtomicAckEth(opcode)) add(atomicAckEth)
  if (opcodes.hasImmediate(opcode)) add(immdt)
  if (opcodes.hasIeth(opcode)) add(ieth)
  if (opcodes.hasSack(opcode)) add(sack)
  if (opcodes.hasDelayedAck(opcode)) add(delayedAck)
  if (opcodes.hasRate(opcode)) add(rate)
  if (opcodes.hasFairRate(opcode)) add(fairRate)
  if (opcodes.hasRateRequest(opcode)) add(rateRequest)
  if (opcodes.hasArrival(opcode)) add(arrival)
  return parts
}

/** Prints a management datagram to QP 1, if the frame contains one. */
function printMad(frame: Frame): string {
  const { view, payload, payloadLength } = frame
  const isToGsi =
    bth.opcode(view, frame.bth) === opcodes.Opcode.UD_SEND_ONLY && bth.destQpn(view, frame.bth) === 1
  const isWhole = payloadLength > 0 && payload + payloadLength <= frame.length
  return isToGsi && isWhole ? cmMessages.print(view, payload, payload + payloadLength) : ''
}

function printVxlan(frame: Frame, depth: number): string {
  const at = frame.l4 + udp.BYTES
  const end = Math.min(frame.l4 + udp.length(frame.view, frame.l4), frame.length)
  if (vxlan.check(frame.view, at, end) !== WireError.OK) return 'VXLAN [malformed]'
  const head = vxlan.print(frame.view, at)
  if (depth >= NESTING_MAX) return head
  const inner = new Frame(0, frame.bytes.subarray(at + vxlan.BYTES, end))
  inner.length = inner.bytes.length
  inner.wireLength = frame.l4 + udp.length(frame.view, frame.l4) - at - vxlan.BYTES
  return `${head} | ${printNested(inner, depth + 1)}`
}
