import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import xxhash from 'xxhash-wasm'
import { createDigest, createRestorableDigest } from '../../lib/transfer/protocol/digest.js'

t.test('a file has one digest, however it is cut and whatever computes it', async t => {
  const { h64Raw } = await xxhash()
  for (const length of [0, 1, 31, 32, 33, 4096, 1_000_003]) {
    const bytes = randomBytes(length)
    const xxh64 = Buffer.alloc(8)
    xxh64.writeBigUInt64BE(h64Raw(bytes))
    const expected = { XXH64: xxh64, SHA256: createHash('sha256').update(bytes).digest() }
    for (const kind of ['XXH64', 'SHA256'] as const) {
      for (const [piece, create] of everyPair([7, 4096, 1 << 20], [createDigest, createRestorableDigest])) {
        if (length / piece > 10_000) continue
        const digest = create(kind)
        for (let at = 0; at < length; at += piece) {
          digest.update(bytes.subarray(at, at + piece))
          // Reading it changes nothing.
          if (at < 2 * piece || at + piece >= length) digest.soFar()
        }
        t.same(Buffer.from(digest.soFar()), expected[kind], `${kind} so far of ${length} bytes by ${piece}`)
        t.same(Buffer.from(digest.finish()), expected[kind], `${kind} of ${length} bytes by ${piece}`)
      }
    }
  }
})

t.test('a digest goes back to where it was marked, as often as asked', async t => {
  for (const kind of ['XXH64', 'SHA256'] as const) {
    for (const length of [0, 5, 31, 32, 4096, 100_001]) {
      const [digest, straight] = [createRestorableDigest(kind), createDigest(kind)]
      const [first, second] = [randomBytes(length), randomBytes(50_000)]
      for (const bytes of [first, second]) straight.update(bytes)
      digest.update(first)
      for (let time = 0; time < 3; time++) {
        digest.mark()
        digest.update(randomBytes(time * 7777))
        digest.back()
      }
      digest.update(second)
      t.same(digest.finish(), straight.finish(), `${kind} behind ${length} bytes`)
    }
  }
})

t.test('digests that are computed beside each other do not mix', async t => {
  const contents = [randomBytes(10_007), randomBytes(10_007)]
  const alone = contents.map(bytes => {
    const digest = createDigest('XXH64')
    digest.update(bytes)
    return digest.finish()
  })
  const beside = contents.map(() => createRestorableDigest('XXH64'))
  for (let at = 0; at < 10_007; at += 33)
    for (const [i, digest] of beside.entries()) digest.update(contents[i]!.subarray(at, at + 33))
  t.same(
    beside.map(digest => digest.finish()),
    alone,
  )
})

t.test('a kind that is not known is refused', async t => {
  t.throws(() => createDigest('MD5'), { message: /MD5.*XXH64 and SHA256/ })
})

/** Every value of one list with every value of the other. */
function everyPair<A, B>(a: readonly A[], b: readonly B[]): [A, B][] {
  return a.flatMap(one => b.map((other): [A, B] => [one, other]))
}
