import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import xxhash from 'xxhash-wasm'
import { createDigest } from '../../lib/transfer/digest.js'

t.test('a file has one digest, however it is cut and whatever computes it', async t => {
  const { h64Raw } = await xxhash()
  for (const length of [0, 1, 31, 32, 33, 4096, 1_000_003]) {
    const bytes = randomBytes(length)
    const xxh64 = Buffer.alloc(8)
    xxh64.writeBigUInt64BE(h64Raw(bytes))
    const expected = { XXH64: xxh64, SHA256: createHash('sha256').update(bytes).digest() }
    for (const kind of ['XXH64', 'SHA256'] as const) {
      for (const piece of [7, 4096, 1 << 20]) {
        if (length / piece > 10_000) continue
        const digest = await createDigest(kind)
        for (let at = 0; at < length; at += piece) {
          digest.update(bytes.subarray(at, at + piece))
          // To look at it changes nothing.
          if (at < 2 * piece || at + piece >= length) digest.soFar()
        }
        t.same(Buffer.from(digest.soFar()), expected[kind], `${kind} so far of ${length} bytes by ${piece}`)
        t.same(Buffer.from(digest.finish()), expected[kind], `${kind} of ${length} bytes by ${piece}`)
      }
    }
  }
})

t.test('a kind that is not known is refused', async t => {
  await t.rejects(createDigest('MD5'), { message: /MD5.*XXH64 and SHA256/ })
})
