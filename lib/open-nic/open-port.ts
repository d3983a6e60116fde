/** Opens the port of a daemon from the daemon's options. */
import { WeirError } from '../errors.js'
import type { FramePool } from '../frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../io/linux/batch-receiver.js'
import { libcFault } from '../io/linux/libc.js'
import { Neighbours } from '../io/linux/neighbours.js'
import type { Port } from '../io/port.js'
import { BatchPort } from '../io/ports/batch-port.js'
import { DgramPort } from '../io/ports/dgram-port.js'
import { HostPacketPort, interfaceUp } from '../io/ports/host-packet-port.js'
import { RawPort } from '../io/ports/raw-port.js'
import { VxlanPort } from '../io/ports/vxlan-port.js'
import { macOf, type NicConfig } from '../nic/config.js'
import { HostAddress } from '../wire/net/address.js'
import * as udp from '../wire/net/udp.js'
import { IO_NAMES } from './io-names.js'
import { checkPortOptions, type GivenPortOptions } from './port-options.js'

/** Room that a port needs in its pool. */
export const PORT_ROOM_BYTES = RECEIVER_ROOM_BYTES

/** One end of an emulated link. */
export interface OverlayLink {
  vni: number
  local: { address: string; port: number }
  peer: { address: string; port: number }
}

interface OpenPortOptions extends GivenPortOptions {
  pool: FramePool
  /** A name of IO_NAMES. 'auto' is the fastest port that this machine offers. */
  io: string
  address: string
  /** UDP port of RoCEv2. Packets with telemetry use the next one. */
  port: number
  /** Frames travel in VXLAN to an emulated switch instead. */
  overlay?: OverlayLink
  /** With io packet: takes in LLDP frames too. */
  lldp?: boolean
}

/** A port, and the properties of its link that a NIC needs. */
export interface OpenedPort {
  io: string
  port: Port
  link?: Pick<NicConfig, 'mac' | 'macOfPeer'>
}

/**
 * Throws WEIR_BAD_ARGUMENT for an unknown name or if the address or port cannot be bound, and
 * WEIR_UNSUPPORTED if the machine does not offer the port.
 */
export async function openPort(options: OpenPortOptions): Promise<OpenedPort> {
  const { pool, io, address, port, overlay } = options
  if (overlay || io === 'packet') checkStandardPort(overlay ? 'an emulated link' : 'io "packet"', port)
  if (overlay) return { io: 'vxlan', port: await VxlanPort.open({ pool, ...overlay }) }
  if (!(IO_NAMES as readonly string[]).includes(io)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `io "${io}": choose one of ${IO_NAMES.join(', ')}`)
  }
  const takes = io === 'auto' ? automaticIo().takes : io
  checkPortOptions(takes, options)
  if (takes === 'packet') return openPacketPort(options)
  const ports = { pool, address, rocePort: port, intPort: port + 1, sourcePorts: options.sourcePorts }
  if (takes === 'batch') return { io: takes, port: new BatchPort(ports) }
  if (takes === 'raw') return { io: takes, port: await RawPort.open(ports) }
  return { io: 'dgram', port: await DgramPort.open(ports) }
}

/** Returns the port that `auto` stands for on this machine, and why it is not a faster one. */
export function automaticIo(): { takes: 'batch' | 'dgram'; why?: string } {
  const fault = libcFault()
  return fault === null ? { takes: 'batch' } : { takes: 'dgram', why: fault }
}

/** Switches recognise RoCEv2 by its standard port. */
function checkStandardPort(what: string, port: number): void {
  if (port === udp.PORT_ROCE) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: the UDP port is 4791, not ${port}`)
}

/** Raw frames carry the standard ports of RoCEv2 and the MAC address of the peer. */
async function openPacketPort(options: OpenPortOptions): Promise<OpenedPort> {
  const address = HostAddress.parse(options.address)
  await interfaceUp(address, options.interface)
  const port = HostPacketPort.open({
    pool: options.pool,
    address,
    interface: options.interface,
    lldp: options.lldp,
  })
  const neighbours = new Neighbours(port.interface, address)
  port.onClose(() => neighbours.close())
  return {
    io: 'packet',
    port,
    link: { mac: port.mac, macOfPeer: peer => neighbours.macOf(peer) ?? macOf(peer) },
  }
}

/** Bytes of the largest headers around a payload: IPv6, UDP, INT shim, BTH, RETH, ImmDt, ICRC; and of each hop. */
const SHIM_HEADER_BYTES = 40 + 8 + 8 + 12 + 16 + 4 + 4
const SLOT_BYTES = 24
/** Telemetry records that a packet may have. */
const HOPS_MAX = 15

/**
 * Returns how many hops may write telemetry beside a payload of `pathMtu` bytes in an IP packet of `mtu`
 * bytes, 1 to 15.
 */
export function hopsFor(mtu: number, pathMtu: number): number {
  const hops = Math.floor((mtu - pathMtu - SHIM_HEADER_BYTES) / SLOT_BYTES)
  return Math.max(1, Math.min(HOPS_MAX, hops))
}
