/**
 * Priority-based flow control frame (IEEE 802.1Qbb, 802.1Q clause 36): a MAC control frame to
 * 01:80:c2:00:00:01, EtherType 0x8808, opcode 0x0101, the vector of priorities, then 8 times in quanta.
 * One quantum is the time of 512 bits on the link; 0 resumes. Offsets count from the Ethernet header.
 */
import type { Nanos } from '../../time/nanos.js'
import { WireError } from '../bytes/wire-error.js'
import * as ethernet from './ethernet.js'
import type { MacAddress } from './mac.js'

/** The whole frame, padded to Ethernet's minimum, without FCS. */
export const BYTES = 60
export const DESTINATION: MacAddress = 0x0180_c200_0001
const OPCODE = 0x0101
const QUANTUM_BITS = 512
/** PAUSE of IEEE 802.3x (802.3 annex 31B), which stops a link for all priorities. */
export const PAUSE_OPCODE = 0x0001

const CONTROL_OPCODE = 14
const ENABLE_VECTOR = 16
const QUANTA = 18
const QUANTA_END = 34

/** Returns true for a PFC frame. The port consumes it and never forwards it. */
export function isPfc(view: DataView, at: number, end: number): boolean {
  return (
    end - at >= ENABLE_VECTOR &&
    view.getUint16(at + 12) === ethernet.TYPE_MAC_CONTROL &&
    view.getUint16(at + CONTROL_OPCODE) === OPCODE
  )
}

/** Returns true for a PAUSE frame, which holds for the whole link. */
export function isGlobalPause(view: DataView, at: number, end: number): boolean {
  return (
    end - at >= ENABLE_VECTOR &&
    view.getUint16(at + 12) === ethernet.TYPE_MAC_CONTROL &&
    view.getUint16(at + CONTROL_OPCODE) === PAUSE_OPCODE
  )
}

export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < QUANTA_END) return WireError.SHORT_PFC
  if (!isPfc(view, at, end) || ethernet.destination(view, at) !== DESTINATION) return WireError.BAD_PFC
  return WireError.OK
}

/** Bit n is set when the time of priority n counts. */
export function enableVector(view: DataView, at: number): number {
  return view.getUint16(at + ENABLE_VECTOR) & 0xff
}

export function isEnabled(view: DataView, at: number, priority: number): boolean {
  return ((enableVector(view, at) >>> priority) & 1) !== 0
}

/** Pause time of `priority`, 0 to 7, in quanta of 512 bit times. */
export function quanta(view: DataView, at: number, priority: number): number {
  return view.getUint16(at + QUANTA + 2 * priority)
}

export function setEnableVector(view: DataView, at: number, vector: number): void {
  view.setUint16(at + ENABLE_VECTOR, vector & 0xff)
}

export function setQuanta(view: DataView, at: number, priority: number, value: number): void {
  view.setUint16(at + QUANTA + 2 * priority, value)
}

/** Returns how long a pause of `quanta` holds on a link of `rateBps`, rounded up to a whole nanosecond. */
export function pauseNs(quanta: number, rateBps: number): Nanos {
  return Math.ceil((quanta * QUANTUM_BITS * 1e9) / rateBps)
}

/**
 * Writes a whole frame of 60 bytes that gives `quantaEach` to every priority in `vector`, 0 to the others.
 */
export function write(
  view: DataView,
  at: number,
  source: MacAddress,
  vector: number,
  quantaEach: number,
): void {
  ethernet.write(view, at, DESTINATION, source, ethernet.TYPE_MAC_CONTROL)
  view.setUint16(at + CONTROL_OPCODE, OPCODE)
  setEnableVector(view, at, vector)
  for (let p = 0; p < 8; p++) setQuanta(view, at, p, (vector >>> p) & 1 ? quantaEach : 0)
  for (let i = QUANTA_END; i < BYTES; i++) view.setUint8(at + i, 0)
}

export function print(view: DataView, at: number): string {
  let text = 'PFC'
  for (let p = 0; p < 8; p++) if (isEnabled(view, at, p)) text += ` p${p} ${quanta(view, at, p)}`
  return text
}
