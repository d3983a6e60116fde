/**
 * The hop-by-hop options header (RFC 8200, section 4.3) with one IOAM option (RFC 9486, section 3), between IPv6 and UDP.
 *
 * | byte | field                                                                    |
 * |------|--------------------------------------------------------------------------|
 * | 0    | next header                                                                |
 * | 1    | length of this header in 8-byte units, the first one not counted            |
 * | 2–3  | PadN, so that the option begins at a multiple of 4                          |
 * | 4    | option type 0x31: skip if unknown; may change on the way                     |
 * | 5    | length of what follows                                                      |
 * | 6    | reserved                                                                    |
 * | 7    | IOAM option type: 0, pre-allocated trace                                    |
 * | 8…   | the option                                                                  |
 */

import { WireError } from '../bytes/wire-error.js'
import * as ioamTrace from './ioam-trace.js'

/** Before the IOAM option. */
export const BYTES = 8
/** Nodes for which one option has room, because its length is one byte. */
const NODES_MAX = 7

const NEXT_HEADER = 0
const HEADER_LENGTH = 1
const OPTIONS = 2
const OPTION_PAD1 = 0
const OPTION_IOAM = 0x31
const PADN_2 = 0x0100
const TYPE_PREALLOCATED_TRACE = 0

/** Bytes of a header with room for this many nodes, at most NODES_MAX. */
export function bytes(nodes: number): number {
  return BYTES + ioamTrace.bytes(Math.min(nodes, NODES_MAX))
}

/** Checks that the header and all its options lie before `end`. */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES || at + headerBytes(view, at) > end) return WireError.SHORT_IOAM
  const headerEnd = at + headerBytes(view, at)
  let option = at + OPTIONS
  while (option < headerEnd) option = after(view, option, headerEnd)
  return option === headerEnd ? WireError.OK : WireError.BAD_IOAM
}

export function headerBytes(view: DataView, at: number): number {
  return 8 * (view.getUint8(at + HEADER_LENGTH) + 1)
}

export function nextHeader(view: DataView, at: number): number {
  return view.getUint8(at + NEXT_HEADER)
}

/**
 * Returns the offset of the trace option's data, or -1 if the header has none. `check` must have accepted the
 * header.
 */
export function findTrace(view: DataView, at: number): number {
  const end = at + headerBytes(view, at)
  for (let option = at + OPTIONS; option < end; option = after(view, option, end)) {
    const isTrace =
      view.getUint8(option) === OPTION_IOAM &&
      view.getUint8(option + 1) >= 2 &&
      view.getUint8(option + 3) === TYPE_PREALLOCATED_TRACE
    if (isTrace) return option + 4
  }
  return -1
}

/** First byte after the trace data that `findTrace` found. */
export function traceEnd(view: DataView, trace: number): number {
  return trace + view.getUint8(trace - 3) - 2
}

/**
 * Writes a header with an empty trace option. Returns its bytes.
 *
 * @param next the protocol that follows
 */
export function write(view: DataView, at: number, nodes: number, next: number): number {
  const total = bytes(nodes)
  view.setUint8(at + NEXT_HEADER, next)
  view.setUint8(at + HEADER_LENGTH, total / 8 - 1)
  view.setUint16(at + OPTIONS, PADN_2)
  view.setUint8(at + 4, OPTION_IOAM)
  view.setUint8(at + 5, total - 6)
  view.setUint16(at + 6, TYPE_PREALLOCATED_TRACE)
  ioamTrace.write(view, at + BYTES, Math.min(nodes, NODES_MAX))
  return total
}

/** Returns where the next option begins. It is beyond `end` if this one is not whole. */
function after(view: DataView, option: number, end: number): number {
  if (view.getUint8(option) === OPTION_PAD1) return option + 1
  return option + 2 > end ? end + 1 : option + 2 + view.getUint8(option + 1)
}
