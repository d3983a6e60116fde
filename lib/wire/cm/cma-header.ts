/**
 * The header with which a REQ's private data begins in the RDMA port spaces: the IP addresses and the active
 * side's port, 36 bytes (IBA annex A11). The passive side's port is in the service id.
 *
 *     0 version | 1 IP version:4, reserved:4 | 2 source port (2) | 4 source address (16) | 20 destination address (16)
 *
 * An IPv4 address sits in the last 4 bytes of its 16; the 12 before it are zero here, though ::ffff: in a GID.
 */
import { bytes } from './fields.js'

export const BYTES = 36

/** Upper bits of a service id, before the 16 of the port (IBA annex A11). */
const PortSpace = { TCP: 0x0106n, UDP: 0x0111n, IB: 0x013fn } as const

/** Returns the service id of a port in RDMA_PS_TCP: 0x0000000001060000 + port. */
export function serviceIdOf(port: number): bigint {
  return (PortSpace.TCP << 16n) | BigInt(port)
}

/** Returns the service id of a port in RDMA_PS_UDP: 0x0000000001110000 + port. */
export function datagramServiceIdOf(port: number): bigint {
  return (PortSpace.UDP << 16n) | BigInt(port)
}

/** Returns whether a service id belongs to a port space whose REQs carry this header: TCP or UDP. */
export function isPortSpace(serviceId: bigint): boolean {
  const space = serviceId >> 16n
  return space === PortSpace.TCP || space === PortSpace.UDP
}

export function portOf(serviceId: bigint): number {
  return Number(serviceId & 0xffffn)
}

interface CmaHeader {
  version: number
  /** 4 or 6. Anything else is an error of the peer. */
  ipVersion: number
  /** Port of the active side. */
  sourcePort: number
  /** As GIDs: 16 bytes, IPv4 addresses as ::ffff:a.b.c.d. */
  source: Uint8Array
  destination: Uint8Array
}

export const version = (view: DataView, at: number): number => view.getUint8(at)
export const ipVersion = (view: DataView, at: number): number => view.getUint8(at + 1) >>> 4
export const sourcePort = (view: DataView, at: number): number => view.getUint16(at + 2)

export function read(view: DataView, at: number): CmaHeader {
  const isIpv4 = ipVersion(view, at) === 4
  return {
    version: version(view, at),
    ipVersion: ipVersion(view, at),
    sourcePort: sourcePort(view, at),
    source: readGid(view, at + 4, isIpv4),
    destination: readGid(view, at + 20, isIpv4),
  }
}

/** Writes 36 bytes. The 12 bytes before an IPv4 address become zero. */
export function write(view: DataView, at: number, header: CmaHeader): void {
  const isIpv4 = header.ipVersion === 4
  view.setUint8(at, header.version)
  view.setUint8(at + 1, header.ipVersion << 4)
  view.setUint16(at + 2, header.sourcePort)
  writeGid(view, at + 4, header.source, isIpv4)
  writeGid(view, at + 20, header.destination, isIpv4)
}

function readGid(view: DataView, at: number, isIpv4: boolean): Uint8Array {
  const gid = bytes(view, at, 16)
  if (isIpv4) {
    gid.fill(0, 0, 10)
    gid.fill(0xff, 10, 12)
  }
  return gid
}

function writeGid(view: DataView, at: number, gid: Uint8Array, isIpv4: boolean): void {
  for (let i = 0; i < 16; i++) view.setUint8(at + i, isIpv4 && i < 12 ? 0 : gid[i]!)
}
