import { assert } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { MemoryRegion } from './memory.js'

/**
 * Puts `length` bytes of a region and the zero pad to 4 bytes (IBA 9.2.3) at `at`, and sets the
 * frame's payload and lengths, without ICRC. Of a region without storage nothing is written: `length` ends
 * with the headers, `wireLength` counts all. Returns the pad count, 0 to 3.
 */
export function writePayload(
  frame: Frame,
  at: number,
  region: MemoryRegion,
  offset: number,
  length: number,
): number {
  const pad = -length & 3
  const end = at + length + pad
  frame.payload = at
  frame.payloadLength = length
  frame.wireLength = end
  frame.length = region.buffer === null ? at : end
  if (region.buffer !== null) {
    assert(end <= frame.bytes.length, 'payload: the frame slot is too small for headers, payload and pad')
    region.buffer.copy(frame.bytes, at, offset, offset + length)
    for (let i = end - pad; i < end; i++) frame.bytes[i] = 0
  }
  return pad
}

/** Copies a received payload into a region, if both have bytes. The caller has checked bounds and rights. */
export function readPayload(frame: Frame, region: MemoryRegion, offset: number): void {
  if (region.buffer === null || frame.payloadLength === 0 || !frame.materialised) return
  frame.bytes.copy(region.buffer, offset, frame.payload, frame.payload + frame.payloadLength)
}
