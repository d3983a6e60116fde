import type { MemoryRegion } from './memory.js'

/**
 * 64-bit words of atomics in memory, as two halves of 32 bits. On the wire they are big-endian, in memory in
 * the order of the machine (IBA 9.4.5): little-endian on every machine that Node.js runs on here.
 */

/** The high half of the word at `offset`; 0 in a region without storage. */
export function readHigh(region: MemoryRegion, offset: number): number {
  return region.buffer === null ? 0 : region.buffer.readUInt32LE(offset + 4)
}

/** The low half of the word at `offset`; 0 in a region without storage. */
export function readLow(region: MemoryRegion, offset: number): number {
  return region.buffer === null ? 0 : region.buffer.readUInt32LE(offset)
}

/** Writes the word at `offset`, if the region has storage. */
export function writeAtomicResult(region: MemoryRegion, offset: number, high: number, low: number): void {
  if (region.buffer === null) return
  region.buffer.writeUInt32LE(low, offset)
  region.buffer.writeUInt32LE(high, offset + 4)
}
