/** SipHash-2-4 against the vectors of its reference implementation (vectors.h: key 00..0f, input 00..n-1). */
import t from 'tap'
import { keyWords, sipHash24 } from '../../lib/wire/bytes/siphash.js'

const VECTORS = [
  '310e0edd47db6f72',
  'fd67dc93c539f874',
  '5a4fa9d909806c0d',
  '2d7efbd796666785',
  'b7877127e09427cf',
  '8da699cd64557618',
  'cee3fe586e46c9cb',
  '37d1018bf50002ab',
  '6224939a79f5f593',
  'b0e4a90bdf82009e',
  'f3b9dd94c5bb5d7a',
  'a7ad6b22462fb3f4',
  'fbe50e86bc8f1e75',
  '903d84c02756ea14',
  'eef27a8e90ca23f7',
  'e545be4961ca29a1',
]

/** The hash as the reference implementation writes it, little-endian, in hex. */
function hashed(key: Uint8Array, input: Uint8Array, offset: number): string {
  const bytes = Buffer.alloc(offset + input.length + 3, 0xee)
  bytes.set(input, offset)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const hash = new Uint32Array(2)
  sipHash24(keyWords(key), view, offset, offset + input.length, hash)
  const out = Buffer.alloc(8)
  out.writeUInt32LE(hash[0]!, 0)
  out.writeUInt32LE(hash[1]!, 4)
  return out.toString('hex')
}

const counting = (length: number) => Uint8Array.from({ length }, (_, i) => i)

t.test('the published vectors, wherever the input lies', async t => {
  for (const [n, vector] of VECTORS.entries()) {
    t.equal(hashed(counting(16), counting(n), 0), vector, `${n} bytes`)
    t.equal(hashed(counting(16), counting(n), 5), vector, `${n} bytes at an odd offset`)
  }
})

t.test('every bit of input and key counts', async t => {
  const input = counting(61)
  const seen = new Set([hashed(counting(16), input, 0)])
  for (let bit = 0; bit < 8 * input.length; bit++) {
    const changed = Uint8Array.from(input)
    changed[bit >>> 3]! ^= 1 << (bit & 7)
    seen.add(hashed(counting(16), changed, 0))
  }
  for (let bit = 0; bit < 128; bit++) {
    const key = counting(16)
    key[bit >>> 3]! ^= 1 << (bit & 7)
    seen.add(hashed(key, input, 0))
  }
  t.equal(seen.size, 1 + 8 * input.length + 128)
})
