/**
 * Selective acknowledgement of Weir (opcode 0xc3): 36 bytes behind BTH and AETH, which say what those of an ACK say.
 *
 *     0   reserved, 0 (8 bits)   base PSN (24 bits)
 *     4   bitmap, 256 bits: bit n, the most significant bit of each byte first, stands for base PSN + n
 *
 * A set bit: that request has arrived and is kept, though one before it is missing. A clear one says nothing, as the
 * bitmap may begin behind the first missing request: it covers what arrived last (RFC 2018, section 4).
 */
export const BYTES = 36
/** PSNs that one bitmap covers. */
export const BITS = 256
/** 32-bit words of the bitmap. */
export const WORDS = BITS / 32

const BITMAP = 4

/** 24 bits. */
export function basePsn(view: DataView, at: number): number {
  return view.getUint32(at) & 0xffffff
}

/** 32 bits of the bitmap: the most significant one stands for base PSN + 32 x `index`; `index` from 0 to 7. */
export function word(view: DataView, at: number, index: number): number {
  return view.getUint32(at + BITMAP + 4 * index)
}

/** True if the bitmap names base PSN + `bit`; `bit` from 0 to 255. */
export function has(view: DataView, at: number, bit: number): boolean {
  return (view.getUint8(at + BITMAP + (bit >>> 3)) & (0x80 >>> (bit & 7))) !== 0
}

/** Names base PSN + `bit`. */
export function add(view: DataView, at: number, bit: number): void {
  const byte = at + BITMAP + (bit >>> 3)
  view.setUint8(byte, view.getUint8(byte) | (0x80 >>> (bit & 7)))
}

/** The last bit that is set, -1 when there is none. */
export function lastBit(view: DataView, at: number): number {
  for (let index = WORDS - 1; index >= 0; index--) {
    const bits = word(view, at, index)
    if (bits !== 0) return 32 * index + Math.clz32(bits & -bits)
  }
  return -1
}

/** Writes the base, taken modulo 2^24, and an empty bitmap. */
export function write(view: DataView, at: number, base: number): void {
  view.setUint32(at, base & 0xffffff)
  for (let index = 0; index < WORDS; index++) view.setUint32(at + BITMAP + 4 * index, 0)
}

/** The PSNs as ranges: `sack 17-19 22`. */
export function print(view: DataView, at: number): string {
  const base = basePsn(view, at)
  const ranges: string[] = []
  for (let bit = 0; bit < BITS; bit++) {
    if (!has(view, at, bit)) continue
    const first = bit
    while (bit + 1 < BITS && has(view, at, bit + 1)) bit++
    const name = (n: number) => (base + n) & 0xffffff
    ranges.push(first === bit ? `${name(first)}` : `${name(first)}-${name(bit)}`)
  }
  return `sack ${ranges.length > 0 ? ranges.join(' ') : 'nothing'}`
}
