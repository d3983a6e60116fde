/**
 * SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012): a keyed hash of 64 bits that is
 * fast for short packets. It computes in 32-bit halves, because BigInt would allocate.
 */

/**
 * Returns 128 bits of key as four little-endian words.
 *
 * @param key 16 bytes
 */
export function keyWords(key: Uint8Array): Uint32Array {
  const view = new DataView(key.buffer, key.byteOffset, 16)
  return Uint32Array.of(
    view.getUint32(0, true),
    view.getUint32(4, true),
    view.getUint32(8, true),
    view.getUint32(12, true),
  )
}

/** Hashes the bytes from `from` to `to`. `hash[0]` gets the low 32 bits, `hash[1]` the high ones. */
export function sipHash24(
  key: Uint32Array,
  view: DataView,
  from: number,
  to: number,
  hash: Uint32Array,
): void {
  let v0l = key[0]! ^ 0x70736575
  let v0h = key[1]! ^ 0x736f6d65
  let v1l = key[2]! ^ 0x6e646f6d
  let v1h = key[3]! ^ 0x646f7261
  let v2l = key[0]! ^ 0x6e657261
  let v2h = key[1]! ^ 0x6c796765
  let v3l = key[2]! ^ 0x79746573
  let v3h = key[3]! ^ 0x74656462
  const words = (to - from) >>> 3
  // The whole words are followed by the last one, which has the length, and by the finalisation.
  for (let n = 0; n <= words + 1; n++) {
    let ml = 0
    let mh = 0
    let rounds = 2
    if (n < words) {
      ml = view.getInt32(from + 8 * n, true)
      mh = view.getInt32(from + 8 * n + 4, true)
    } else if (n === words) {
      const at = from + 8 * words
      mh = (to - from) << 24
      if (at < to) {
        ml = littleEndian(view, at, Math.min(to, at + 4))
        mh |= littleEndian(view, at + 4, to)
      }
    } else {
      v2l ^= 0xff
      rounds = 4
    }
    v3l ^= ml
    v3h ^= mh
    for (; rounds > 0; rounds--) {
      // A sum of 32 bits that is less than what was added has carried.
      v0l = (v0l + v1l) | 0
      v0h = (v0h + v1h + (v0l >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
      let high = (v1h << 13) | (v1l >>> 19)
      v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l
      v1h = high ^ v0h
      high = v0h
      v0h = v0l
      v0l = high
      v2l = (v2l + v3l) | 0
      v2h = (v2h + v3h + (v2l >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
      high = (v3h << 16) | (v3l >>> 16)
      v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l
      v3h = high ^ v2h
      v0l = (v0l + v3l) | 0
      v0h = (v0h + v3h + (v0l >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
      high = (v3h << 21) | (v3l >>> 11)
      v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l
      v3h = high ^ v0h
      v2l = (v2l + v1l) | 0
      v2h = (v2h + v1h + (v2l >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
      high = (v1h << 17) | (v1l >>> 15)
      v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l
      v1h = high ^ v2h
      high = v2h
      v2h = v2l
      v2l = high
    }
    v0l ^= ml
    v0h ^= mh
  }
  hash[0] = v0l ^ v1l ^ v2l ^ v3l
  hash[1] = v0h ^ v1h ^ v2h ^ v3h
}

/** Returns the bytes from `from` to `to`, fewer than five, as a word; 0 if there are none. */
function littleEndian(view: DataView, from: number, to: number): number {
  let word = 0
  for (let at = from, shift = 0; at < to; at++, shift += 8) word |= view.getUint8(at) << shift
  return word
}
