/**
 * In-band telemetry of a frame, whatever its encapsulation: what the sender's NIC writes, what a receiver reads. This
 * is the one place that tells encapsulations apart; `frame.shim` says where the telemetry is, `frame.intFormat` what it is.
 *
 * An echo is always a native shim of wide slots, or a copy of a compact one.
 */
import type { Frame } from '../frame/frame.js'
import type { HopRecords } from './hop-records.js'
import * as intShim from './int-shim.js'
import * as udp from './udp.js'
import type { WireError } from './wire-error.js'

/** Encapsulations by number, as in `ConnectParameters.int_format`; the names are those of scenarios and of `--int`. */
export const FORMAT_NAMES = ['wide', 'compact'] as const
export type IntFormat = (typeof FORMAT_NAMES)[number]

/** The number of an encapsulation. */
export function formatOf(name: IntFormat): number {
  return FORMAT_NAMES.indexOf(name)
}

/** Bytes of the greatest echo. */
export const ECHO_BYTES_MAX = intShim.bytes(intShim.FORMAT_WIDE, 16)

/**
 * The sender's part: writes telemetry without records behind the UDP header of a frame that has nothing behind it yet.
 *
 * @param format number of the encapsulation; @param hops records that it may collect, 1 to 15; @param flagBits
 * FLAG_* of int-shim.ts
 * @returns where the BTH goes
 */
export function begin(frame: Frame, format: number, hops: number, flagBits: number): number {
  frame.shim = frame.payload
  frame.intFormat = format
  return frame.shim + intShim.write(frame.view, frame.shim, format, hops, flagBits)
}

/** The UDP port that a frame goes to, by the telemetry that it carries. */
export function destinationPort(frame: Frame): number {
  return frame.shim >= 0 ? udp.PORT_INT : udp.PORT_ROCE
}

/** True if the telemetry has been collected on another packet's way, and is brought back. */
export function isEcho(frame: Frame): boolean {
  return frame.shim >= 0 && intShim.isEcho(frame.view, frame.shim)
}

/** The receiver's part: decodes the records. Of malformed telemetry none is left in `into`. */
export function read(frame: Frame, into: HopRecords): WireError {
  return intShim.read(frame.view, frame.shim, frame.bth, into)
}

/** Writes the echo of a frame's telemetry, which `parseFrame` has checked; returns its bytes. */
export function writeEcho(view: DataView, at: number, from: Frame): number {
  return intShim.writeEcho(view, at, from.view, from.shim)
}
