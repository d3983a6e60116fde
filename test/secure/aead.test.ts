/** AES-128-GCM both ways: beside a published vector, beside each other, and over any lengths. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { directAead, NODE_AEAD, TAG_BYTES } from '../../lib/secure/aead.js'

const hex = (text: string) => Buffer.from(text, 'hex')

/** Test case 4 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B. */
const VECTOR = {
  by: {
    key: hex('feffe9928665731c6d6a8f9467308308'),
    nonce: hex('cafebabefacedbaddecaf888'),
    about: hex('feedfacedeadbeeffeedfacedeadbeefabaddad2'),
  },
  text: hex(
    'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39',
  ),
  sealed: hex(
    '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091',
  ),
  tag: hex('5bc94fbc3221a5db94fae95ae7121a47'),
}

const direct = directAead()
const WAYS = { 'node:crypto': NODE_AEAD, ...(direct ? { direct } : {}) }

for (const [name, aead] of Object.entries(WAYS)) {
  t.test(`${name}: the published vector, in other memory and in place`, async t => {
    const { by, text, sealed, tag } = VECTOR
    const memory = Buffer.from(text)
    const into = Buffer.alloc(text.length)
    const made = Buffer.alloc(TAG_BYTES)
    aead.seal(by, text, into, made)
    t.same([into, made], [sealed, tag])
    aead.seal(by, memory, memory, made)
    t.same([memory, made], [sealed, tag])
    t.ok(aead.open(by, memory, memory, tag))
    t.same(memory, text)
    for (const [what, forged] of [
      ['text', { text: flipped(sealed) }],
      ['tag', { tag: flipped(tag) }],
      ['key', { by: { ...by, key: flipped(by.key) } }],
      ['nonce', { by: { ...by, nonce: flipped(by.nonce) } }],
      ['what is beside the text', { by: { ...by, about: flipped(by.about) } }],
    ] as const) {
      const right = { by, text: sealed, tag }
      const all = { ...right, ...forged }
      t.notOk(aead.open(all.by, all.text, into, all.tag), what)
    }
    t.ok(aead.open(by, sealed, into, tag), 'what came before has left nothing behind')
  })
}

t.test(
  'each opens what the other has sealed, of any length',
  { skip: direct === null && 'koffi' },
  async t => {
    for (const length of [0, 1, 15, 16, 17, 4096, 65_535, 100_001, 1 << 20]) {
      const by = { key: randomBytes(16), nonce: randomBytes(12), about: randomBytes(24) }
      const text = randomBytes(length)
      const [a, b] = [Buffer.alloc(length), Buffer.alloc(length)]
      const [tag, other] = [Buffer.alloc(TAG_BYTES), Buffer.alloc(TAG_BYTES)]
      NODE_AEAD.seal(by, text, a, tag)
      direct!.seal(by, text, b, other)
      t.ok(a.equals(b) && tag.equals(other), `${length} bytes`)
      t.ok(direct!.open(by, a, a, tag) && NODE_AEAD.open(by, b, b, other) && a.equals(text) && b.equals(text))
    }
  },
)

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[copy.length - 1]! ^= 1
  return copy
}
