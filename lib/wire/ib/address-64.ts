/**
 * 64-bit fields that Weir handles as numbers: remote virtual addresses. A number is exact below 2^53. Actual
 * addresses of user memory are below 2^47 on x86-64 and 2^52 on arm64. Larger ones read as NaN, which no
 * memory region contains, so they cause an access error and never a wrong address.
 */
const HIGH_LIMIT = 0x20_0000

export function readAddress(view: DataView, at: number): number {
  const high = view.getUint32(at)
  return high < HIGH_LIMIT ? high * 0x1_0000_0000 + view.getUint32(at + 4) : Number.NaN
}

/** @param address an integer, 0 to 2^53 - 1 */
export function writeAddress(view: DataView, at: number, address: number): void {
  view.setUint32(at, Math.floor(address / 0x1_0000_0000))
  view.setUint32(at + 4, address >>> 0)
}

/** Prints all 64 bits in hex, including those that a number cannot hold exactly. */
export function printAddress(view: DataView, at: number): string {
  const high = view.getUint32(at)
  const low = view.getUint32(at + 4)
  return high === 0 ? `0x${low.toString(16)}` : `0x${high.toString(16)}${low.toString(16).padStart(8, '0')}`
}
