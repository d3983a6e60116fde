/** 64-bit numbers on the wire as two 32-bit halves, because BigInt would allocate. Big-endian. */

const TWO_32 = 0x1_0000_0000

/** @param value an integer from 0 to 2^53 */
export function writeU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, Math.floor(value / TWO_32))
  view.setUint32(at + 4, value >>> 0)
}

/** Returns the low 48 bits, which are exact. */
export function readU48of64(view: DataView, at: number): number {
  return view.getUint16(at + 2) * TWO_32 + view.getUint32(at + 4)
}

/**
 * Returns `seconds` (u32) and `nanos` (u32) as ns modulo 2^48. The result is exact, though the product would
 * not be.
 */
export function secondsToU48(seconds: number, nanos: number): number {
  const high = (((seconds >>> 16) * 1e9) % TWO_32) * 0x1_0000
  return (high + (seconds & 0xffff) * 1e9 + nanos) % 0x1_0000_0000_0000
}
