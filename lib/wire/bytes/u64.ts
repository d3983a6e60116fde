/** 64-bit numbers on the wire by two 32-bit halves: BigInt would allocate. Big-endian. */

const TWO_32 = 0x1_0000_0000

/** @param value a whole number from 0 to 2^53 */
export function writeU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, Math.floor(value / TWO_32))
  view.setUint32(at + 4, value >>> 0)
}

/** The low 48 bits, exact. */
export function readU48of64(view: DataView, at: number): number {
  return view.getUint16(at + 2) * TWO_32 + view.getUint32(at + 4)
}

/** `seconds` (u32) and `nanos` (u32) as ns modulo 2^48, exact though the product would not be. */
export function secondsToU48(seconds: number, nanos: number): number {
  const high = (((seconds >>> 16) * 1e9) % TWO_32) * 0x1_0000
  return (high + (seconds & 0xffff) * 1e9 + nanos) % 0x1_0000_0000_0000
}
