/** The port that a daemon sends and receives by, made from its options. */
import { WeirError } from '../errors.js'
import type { FramePool } from '../frame/frame-pool.js'
import { DgramPort } from '../io/dgram-port.js'
import type { Port } from '../io/port.js'
import { VxlanPort } from '../io/vxlan-port.js'

/** Names for `--io`. */
export const IO_NAMES = ['auto', 'dgram'] as const

/** One end of an emulated link. */
export interface OverlayLink {
  vni: number
  local: { address: string; port: number }
  peer: { address: string; port: number }
}

export interface OpenPortOptions {
  pool: FramePool
  /** 'auto' picks the fastest that this machine offers. */
  io: string
  address: string
  /** UDP port of RoCEv2; INT goes to the next one. */
  port: number
  /** Frames travel in VXLAN to an emulated switch instead. */
  overlay?: OverlayLink
}

/** Throws WEIR_BAD_ARGUMENT for an unknown name, or when the address or port cannot be bound. */
export async function openPort(options: OpenPortOptions): Promise<{ io: string; port: Port }> {
  const { pool, io, address, port, overlay } = options
  if (overlay) return { io: 'vxlan', port: await VxlanPort.open({ pool, ...overlay }) }
  if (!(IO_NAMES as readonly string[]).includes(io)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `io "${io}": choose one of ${IO_NAMES.join(', ')}`)
  }
  return { io: 'dgram', port: await DgramPort.open({ pool, address, rocePort: port, intPort: port + 1 }) }
}

/** Bytes of the largest headers around a payload: IPv6, UDP, INT shim with 5 hops, BTH, RETH, ImmDt, ICRC. */
const HEADER_BYTES = 40 + 8 + 8 + 5 * 24 + 12 + 16 + 4 + 4

/** The greatest path MTU of RoCE whose packets fit into IP packets of `mtu` bytes. */
export function pathMtuFor(mtu: number): number {
  for (const pathMtu of [4096, 2048, 1024, 512]) if (pathMtu + HEADER_BYTES <= mtu) return pathMtu
  return 256
}
