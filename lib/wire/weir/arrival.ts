/**
 * How the newest packet arrived that an acknowledgement covers, as its receiver saw it: 16 bytes, behind the AETH of STAMPED_ACK and
 * behind the bitmap of STAMPED_SACK. Only a host that the peer has asked for it at connect sends them. Big-endian.
 *
 *     0   TTL or hop limit with which the packet arrived (8 bits), 0 = unknown   reserved, 0 (8 bits)   time of its arrival (48 bits)
 *     8   reserved, 0 (16 bits)                                           time at which this packet left (48 bits)
 *
 * Times are ns of the clock of the host that sends this, modulo 2^48 (78 hours). Their difference is its turnaround time.
 */
import type { Frame } from '../../frame/frame.js'
import * as bth from '../ib/bth.js'
import { Opcode } from '../ib/opcode.js'

export const BYTES = 16
/** Times wrap there. */
export const MODULUS_NS = 0x1_0000_0000_0000

const TWO_32 = 0x1_0000_0000
const ARRIVED = 2
const LEFT = 10

/** True for an acknowledgement with this header. */
export function isOn(opcode: number): boolean {
  return opcode === Opcode.STAMPED_ACK || opcode === Opcode.STAMPED_SACK
}

/** The opcode of the same acknowledgement without this header. */
export function plainOpcode(opcode: number): number {
  return opcode === Opcode.STAMPED_SACK ? Opcode.SACK : Opcode.RC_ACKNOWLEDGE
}

/** True if the reserved bits are 0. */
export function isSound(view: DataView, at: number): boolean {
  return view.getUint8(at + 1) === 0 && view.getUint16(at + 8) === 0
}

/** 8 bits, 0 = unknown. */
export function hopLimit(view: DataView, at: number): number {
  return view.getUint8(at)
}

/** 48 bits, ns. */
export function arrivedNs(view: DataView, at: number): number {
  return readU48(view, at + ARRIVED)
}

/** 48 bits, ns. */
export function leftNs(view: DataView, at: number): number {
  return readU48(view, at + LEFT)
}

/**
 * Makes an ACK or SACK that is complete but for its lengths on the wire one with this header. Times are whole numbers below 2^53.
 * @param limit as `hopLimit`
 */
export function add(frame: Frame, arrived: number, left: number, limit: number): void {
  const { view, payload: at } = frame
  const isSack = bth.opcode(view, frame.bth) === Opcode.SACK
  bth.setOpcode(view, frame.bth, isSack ? Opcode.STAMPED_SACK : Opcode.STAMPED_ACK)
  view.setUint16(at, limit << 8)
  writeU48(view, at + ARRIVED, arrived)
  view.setUint16(at + 8, 0)
  writeU48(view, at + LEFT, left)
  frame.payload = at + BYTES
  frame.length += BYTES
  frame.wireLength += BYTES
}

export function print(view: DataView, at: number): string {
  const limit = hopLimit(view, at) === 0 ? '' : ` ttl ${hopLimit(view, at)}`
  return `arrived ${arrivedNs(view, at)}${limit} left ${leftNs(view, at)}`
}

function readU48(view: DataView, at: number): number {
  return view.getUint16(at) * TWO_32 + view.getUint32(at + 2)
}

function writeU48(view: DataView, at: number, value: number): void {
  view.setUint16(at, Math.floor(value / TWO_32) & 0xffff)
  view.setUint32(at + 2, value >>> 0)
}
