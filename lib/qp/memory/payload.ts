import { assert } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import type { MemoryRegion } from './memory.js'
import { gather, scatter } from './memory-list.js'

/** Shorter payloads are copied even for a port that gathers: two more pieces to gather cost as much as the copy. */
export const GATHER_FROM_BYTES = 1024

/**
 * Gives the frame `length` bytes of a region as its payload, at `at`, with the zero pad to 4 bytes (IBA 9.2.3), and
 * sets its lengths, without ICRC. The payload is copied into the slot or, if the port `gathers`, left where it is.
 * The ICRC is that of the bytes as they are now: if the application changes them before the port has sent them, the
 * receiver drops the packet, as with any RDMA hardware.
 *
 * A region without storage has nothing to write: `length` ends with the headers, `wireLength` counts everything.
 * Returns the pad count, 0 to 3.
 */
export function writePayload(
  frame: Frame,
  at: number,
  region: MemoryRegion,
  offset: number,
  length: number,
  gathers: boolean,
): number {
  const pad = -length & 3
  const end = at + length + pad
  const { backing } = region
  frame.payload = at
  frame.payloadLength = length
  frame.wireLength = end
  frame.length = backing === null ? at : end
  if (backing !== null) {
    assert(end <= frame.bytes.length, 'payload: the frame slot is too small for headers, payload and pad')
    if (gathers && length >= GATHER_FROM_BYTES) {
      frame.outside = backing
      frame.outsideBase = offset - at
    } else if (length > 0) frame.bytes.set(backing.view(offset, length), at)
    for (let i = end - pad; i < end; i++) frame.bytes[i] = 0
  } else if (region.pieces !== null) writePieces(frame, region, offset)
  return pad
}

/** The payload of a list is always copied. */
function writePieces(frame: Frame, list: MemoryRegion, offset: number): void {
  const { payload, payloadLength, wireLength, bytes } = frame
  if (wireLength > bytes.length || !gather(list, offset, payloadLength, bytes, payload)) return
  bytes.fill(0, payload + payloadLength, wireLength)
  frame.length = wireLength
}

/** Copies a received payload into a region, if both have bytes. The caller has checked bounds and rights. */
export function readPayload(frame: Frame, region: MemoryRegion, offset: number): void {
  if (region.backing === null) {
    if (region.pieces !== null && frame.materialised) scatter(region, offset, frame.payloadBytes())
  } else if (frame.payloadLength > 0 && frame.materialised)
    region.backing.bytes.set(frame.payloadBytes(), offset)
}

/**
 * Copies the payloads of the first `packets` of a run into a region, one behind the other. All are as long as the frame's, which came
 * before them. The caller has checked bounds and rights.
 */
export function readRun(
  frame: Frame,
  run: ReceivedRun,
  packets: number,
  region: MemoryRegion,
  offset: number,
): void {
  const { memory, packetBytes } = run
  const { payloadLength } = frame
  const { bytes } = region.backing!
  const from = run.at + frame.payload - run.headerBytes
  for (let n = 0; n < packets; n++)
    bytes.set(memory.view(from + n * packetBytes, payloadLength), offset + n * payloadLength)
}
