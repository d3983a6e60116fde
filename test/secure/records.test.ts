/** Records: that they open at the other end and nowhere else, and that no nonce comes twice. */
import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import t from 'tap'
import { ChunkSeal, SEAL_BYTES } from '../../lib/secure/chunk-seal.js'
import {
  aboutOf,
  RECORDS_A_KEY,
  RecordKind,
  RecordOpener,
  RecordSealer,
  TAG_BYTES,
} from '../../lib/secure/records.js'
import { long, usual } from '../support/long.js'
import { drawnSeed } from '../support/seeds.js'

const SECRET = Buffer.alloc(32, 7)

function derived(secret: Uint8Array, use: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `weir record 1 ${use}`, bytes))
}

/** A record as RFC 5116 and RFC 8446 have it: key and iv of its epoch, nonce = iv XOR number. */
function opened(number: number, text: Buffer, tag: Buffer, about: Uint8Array): Buffer {
  let secret: Buffer = SECRET
  for (let epoch = Math.floor(number / RECORDS_A_KEY); epoch > 0; epoch--)
    secret = derived(secret, 'next', 32)
  const nonce = derived(secret, 'iv', 12)
  const counter = Buffer.alloc(12)
  counter.writeBigUInt64BE(BigInt(number), 4)
  for (let i = 0; i < 12; i++) nonce[i]! ^= counter[i]!
  const cipher = createDecipheriv('aes-128-gcm', derived(secret, 'key', 16), nonce)
    .setAAD(about)
    .setAuthTag(tag)
  return Buffer.concat([cipher.update(text), cipher.final()])
}

t.test('a record is what the standards say, over several keys', async t => {
  const sealer = new RecordSealer(SECRET)
  const opener = new RecordOpener(SECRET)
  const tag = Buffer.alloc(TAG_BYTES)
  const numbers = new Set<number>()
  const text = Buffer.alloc(70_000)
  for (let i = 0; i < 2 * RECORDS_A_KEY + 2; i++) {
    const isShown = i < 3 || i % RECORDS_A_KEY < 2 || (i + 1) % RECORDS_A_KEY === 0
    const plain = isShown ? randomBytes(i === 0 ? 0 : 70_000) : Buffer.from([i & 255])
    const about = aboutOf(RecordKind.MESSAGE, i, 2 ** 52 + i, plain.length)
    const number = sealer.seal(plain, text, tag, about)
    numbers.add(number)
    const sealed = text.subarray(0, plain.length)
    if (isShown) t.ok(opened(number, sealed, tag, about).equals(plain), `record ${i} by the standards`)
    if (!opener.open(number, sealed, sealed, tag, about) || !sealed.equals(plain)) t.fail(`record ${i}`)
  }
  t.equal(numbers.size, 2 * RECORDS_A_KEY + 2, 'each number once')
})

t.test('what a record is belongs to it: 24 bytes, all numbers distinct', async t => {
  const seen = new Set<string>()
  for (const kind of Object.values(RecordKind))
    for (const index of [0, 1, 2 ** 32, 2 ** 48, 2 ** 52])
      for (const position of [0, 1, 2 ** 32, 2 ** 48, 2 ** 52])
        for (const length of [0, 1, 2 ** 31]) seen.add(aboutOf(kind, index, position, length).toString('hex'))
  t.equal(seen.size, 4 * 5 * 5 * 3)
})

/** A pseudo-random generator (mulberry32), so that a seed replays. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) % below
  }
}

interface Piece {
  bytes: Buffer
  trailer: Buffer
  index: number
  position: number
}

/** Attacks on pieces of a transfer: each makes one that the peer has not sealed as that piece. */
const ATTACKS: Readonly<
  Record<string, (piece: Piece, other: Piece, draw: (below: number) => number) => void>
> = {
  'a bit of the bytes': (piece, _, draw) => flip(piece.bytes, draw),
  'a bit of tag or number': (piece, _, draw) => flip(piece.trailer, draw),
  'another piece in its place': (piece, other) => {
    piece.bytes = other.bytes
    piece.trailer = other.trailer
  },
  'its bytes with the tag of another': (piece, other) => {
    piece.trailer = other.trailer
  },
  'the index of another': (piece, other) => {
    piece.index = other.index
  },
  'the position of another': (piece, other) => {
    piece.position = other.position
  },
  'its end is missing': (piece, _, draw) => {
    piece.bytes = piece.bytes.subarray(0, draw(piece.bytes.length))
  },
  'more behind it': piece => {
    piece.bytes = Buffer.concat([piece.bytes, Buffer.alloc(1)])
  },
  'the number of a far key': piece => {
    piece.trailer.writeUIntBE(2 ** 40, TAG_BYTES, 6)
  },
}

function flip(bytes: Buffer, draw: (below: number) => number): void {
  bytes[draw(bytes.length)]! ^= 1 << draw(8)
}

function fuzz(count: number): { accepted: string[]; opened: number; seed: number } {
  const seed = drawnSeed(t)
  const draw = generator(seed)
  const sealer = new RecordSealer(SECRET)
  const seal = new ChunkSeal({ name: '', key: '' }, sealer, new RecordOpener(Buffer.alloc(32)))
  const open = new ChunkSeal(
    { name: '', key: '' },
    new RecordSealer(Buffer.alloc(32)),
    new RecordOpener(SECRET),
  )
  const names = Object.keys(ATTACKS)
  const accepted: string[] = []
  const make = (index: number): Piece => {
    const bytes = Buffer.alloc(1 + draw(200), index)
    const piece = { bytes, trailer: Buffer.alloc(SEAL_BYTES), index, position: index * 200 }
    seal.sealPiece(piece.bytes, piece.trailer, index, piece.position)
    return piece
  }
  const copyOf = ({ bytes, trailer, ...rest }: Piece) => ({
    ...rest,
    bytes: Buffer.from(bytes),
    trailer: Buffer.from(trailer),
  })
  let before = make(0)
  let right = 0
  for (let i = 1; i <= count; i++) {
    const piece = make(i)
    const name = names[draw(names.length)]!
    const forged = copyOf(piece)
    ATTACKS[name]!(forged, copyOf(before), draw)
    if (open.openPiece(forged.bytes, forged.trailer, forged.index, forged.position))
      accepted.push(`${i} ${name}`)
    before = copyOf(piece)
    if (open.openPiece(piece.bytes, piece.trailer, piece.index, piece.position)) right++
  }
  return { accepted, opened: right, seed }
}

usual(
  '20,000 pieces that were changed, repeated or moved: none is accepted, and each right one is',
  async t => {
    const { accepted, opened } = fuzz(20_000)
    t.same(accepted, [])
    t.equal(opened, 20_000)
  },
)

long('a million of them', async t => {
  const { accepted, opened } = fuzz(1_000_000)
  t.same(accepted, [])
  t.equal(opened, 1_000_000)
})
