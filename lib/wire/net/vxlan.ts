/** VXLAN header (RFC 7348, section 5): flags, 24 reserved bits, VNI, 8 reserved bits. */
import { WireError } from '../bytes/wire-error.js'

export const BYTES = 8

const FLAGS = 0
const VNI = 4
const FLAG_VNI = 0x08

/** A receiver ignores the reserved fields (RFC 7348, section 5): only the I flag counts. */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_VXLAN
  return (view.getUint8(at + FLAGS) & FLAG_VNI) === 0 ? WireError.BAD_VXLAN : WireError.OK
}

/** The virtual network, 24 bits. */
export function vni(view: DataView, at: number): number {
  return view.getUint32(at + VNI) >>> 8
}

export function setVni(view: DataView, at: number, value: number): void {
  view.setUint32(at + VNI, (value << 8) >>> 0)
}

export function write(view: DataView, at: number, network: number): void {
  view.setUint32(at + FLAGS, (FLAG_VNI << 24) >>> 0)
  setVni(view, at, network)
}

export function print(view: DataView, at: number): string {
  return `VXLAN vni ${vni(view, at)}`
}
