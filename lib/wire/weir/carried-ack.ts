/**
 * An acknowledgement in a packet with payload, in place of a packet of its own: an answer acknowledges its question. It stands where the
 * packet would have an empty shim: a compact echo with one slot, in which no hop is counted. No other echo has an empty slot. Hops
 * write nothing into echoes, and the ICRC covers them.
 *
 *     0   shim (8 bytes)
 *     8   AETH (4 bytes)
 *    12   packets that have arrived twice (8 bits)   PSN acknowledged (24 bits)
 *
 * AETH, PSN and the number of duplicates, modulo 2^7, mean the same as in an ACK. Two Weir hosts agree on it at connect (`carries_acks` of
 * proto/connect.proto).
 */
import type { Frame } from '../../frame/frame.js'
import * as aeth from '../ib/aeth.js'
import * as intShim from '../telemetry/int-shim.js'
import * as telemetry from '../telemetry/telemetry.js'

/** Version and format, flags, hop count, slots. */
export const HEAD = 0x11_80_00_01
const DUPLICATES_PSN = intShim.BYTES + aeth.BYTES
export const BYTES = DUPLICATES_PSN + 4

/**
 * Begins a packet that is to carry one, as `telemetry.begin` does. AETH, PSN and duplicates are still to be written. Returns the offset of
 * the BTH.
 */
export function begin(frame: Frame): number {
  return telemetry.begin(frame, intShim.FORMAT_COMPACT, 1, intShim.FLAG_ECHO)
}

/** True if the frame, which `parseFrame` has accepted, carries one. */
export function isIn({ view, shim, intFormat }: Frame): boolean {
  return shim >= 0 && intFormat === telemetry.NATIVE && view.getInt32(shim) === HEAD
}

/** Offset of the AETH. */
export function aethAt({ shim }: Frame): number {
  return shim + intShim.BYTES
}

/** 24 bits. */
export function psn({ view, shim }: Frame): number {
  return view.getUint32(shim + DUPLICATES_PSN) & 0xffffff
}

/** Packets that have arrived twice, modulo 2^7; 0 from a host that does not count them. */
export function duplicates({ view, shim }: Frame): number {
  return view.getUint8(shim + DUPLICATES_PSN) & 0x7f
}

/** Sets the PSN, modulo 2^24, and the number of packets that have arrived twice, modulo 2^7. */
export function setPsn({ view, shim }: Frame, value: number, duplicates: number): void {
  view.setUint32(shim + DUPLICATES_PSN, ((duplicates & 0x7f) << 24) | (value & 0xffffff))
}

export function print(frame: Frame): string {
  const twice = duplicates(frame)
  return `carries acks ${psn(frame)}, ${aeth.print(frame.view, aethAt(frame))}${twice > 0 ? ` duplicates ${twice}` : ''}`
}
