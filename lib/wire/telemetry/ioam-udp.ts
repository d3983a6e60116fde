/**
 * An IOAM option behind the UDP header of a packet to the INT port, for IPv4. The four bytes are laid out as RFC 9452,
 * section 3, has them between NSH and an IOAM option.
 *
 * | byte | field                                                                   |
 * |------|-------------------------------------------------------------------------|
 * | 0    | IOAM option type: 0, pre-allocated trace                                  |
 * | 1    | length of these four bytes and the option, in 4-byte words                 |
 * | 2    | reserved                                                                 |
 * | 3    | next protocol: 0, what UDP port 4791 carries                              |
 */

import { WireError } from '../bytes/wire-error.js'
import * as ioamTrace from './ioam-trace.js'

export const BYTES = 4
/** The first byte, which distinguishes IOAM from the other encapsulations on the INT port. */
export const TYPE_PREALLOCATED_TRACE = 0

/** Checks these bytes and the option after them. */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_IOAM
  if (view.getUint8(at) !== TYPE_PREALLOCATED_TRACE || view.getUint8(at + 3) !== 0) return WireError.BAD_IOAM
  if (at + totalBytes(view, at) > end) return WireError.SHORT_IOAM
  return ioamTrace.check(view, at + BYTES, at + totalBytes(view, at))
}

/** Length of these four bytes and the option. */
export function totalBytes(view: DataView, at: number): number {
  return 4 * view.getUint8(at + 1)
}

/**
 * Writes these bytes and an empty option. Returns the bytes written.
 *
 * @param nodes 1 to 15
 */
export function write(view: DataView, at: number, nodes: number): number {
  const total = BYTES + ioamTrace.write(view, at + BYTES, nodes)
  view.setUint32(at, (total / 4) << 16)
  return total
}
