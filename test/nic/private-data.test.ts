/**
 * Private data is the application's own, byte for byte, because nobody knows at connect what the peer is. What Weir
 * hosts say to each other stands where no other host looks: in a REQ behind the LIDs of an alternate path that
 * there is none (IBA 12.6.5: a local LID of 0).
 */
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { App, frameName, makePair, type PairOptions, PORT } from './pair.js'

/** Offsets in the MAD: the alternate path, the private data behind the CMA header, and those of other messages. */
const ALTERNATE = 120
const USER_DATA: Readonly<Record<string, [number, number]>> = {
  REQ: [200, 56],
  REP: [60, 196],
  REJ: [108, 148],
  DREQ: [36, 220],
}

function bytesOf(count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, i) => 255 - i)
}

/** `a` connects with that data, and `b` answers with other data, or refuses. Private data of each message, as on the wire. */
function exchange(
  options: PairOptions,
  asked: Uint8Array,
  answer: Uint8Array | Error,
  plain: 'a' | 'b' | null,
) {
  const pair = makePair(options)
  const seen: Record<string, Buffer> = {}
  pair.tap.watch = (frame: Frame, _now, fromA) => {
    const name = frameName(frame)
    if (USER_DATA[name] !== undefined) {
      const [at, count] = USER_DATA[name]
      const from = frame.payload + at
      seen[name] = Buffer.from(frame.bytes.subarray(from, from + count))
      if (name === 'REQ')
        seen.lids = Buffer.from(
          frame.bytes.subarray(frame.payload + ALTERNATE, frame.payload + ALTERNATE + 4),
        )
    }
    if (plain === (fromA ? 'a' : 'b')) takeWordsOut(frame)
    return true
  }
  const left = new App(pair.a)
  const right = new App(pair.b, answer instanceof Error ? undefined : answer)
  let heard: Uint8Array = new Uint8Array(0)
  pair.b.listen(PORT, {
    accept: (_now, request) => {
      heard = request.privateData
      if (answer instanceof Error) throw answer
      return right
    },
  })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left, { privateData: asked })
  const ready = (app: App) => app.log.includes('established')
  pair.until(() => (ready(left) && ready(right)) || left.closed > 0)
  right.connection?.disconnect(pair.network.now, new WeirError('WEIR_INTERNAL', 'told to'))
  pair.settle()
  return { seen, heard, said: left.connection?.peerPrivateData, left }
}

function padded(bytes: Uint8Array, length: number): Buffer {
  return Buffer.concat([bytes], length)
}

t.test('Weir hosts: as many bytes as were given, up to 56 and 80', async t => {
  for (const [one, other] of [
    [0, 0],
    [1, 80],
    [37, 1],
    [56, 20],
  ] as const) {
    const { seen, heard, said } = exchange({}, bytesOf(one), bytesOf(other), null)
    t.same(
      [heard, said],
      [Buffer.from(bytesOf(one)), Buffer.from(bytesOf(other))].map(b => Uint8Array.from(b)),
    )
    t.same(seen.REQ, padded(bytesOf(one), 56))
    t.same(seen.lids, Buffer.alloc(4))
  }
})

t.test('another host finds the bytes of the application, and nothing else', async t => {
  const toPassive = exchange({}, bytesOf(56), bytesOf(80), 'b')
  t.same(toPassive.seen.REQ, Buffer.from(bytesOf(56)))
  t.same(toPassive.said, Uint8Array.from(padded(bytesOf(80), 196)))
  const toActive = exchange({}, bytesOf(9), bytesOf(80), 'a')
  t.same(toActive.heard, Uint8Array.from(padded(bytesOf(9), 56)))
  t.same(toActive.seen.REP, padded(bytesOf(80), 196))
  t.same(toActive.seen.DREQ, Buffer.alloc(220), 'nor why a connection ends')
  const refused = exchange({}, bytesOf(9), new WeirError('WEIR_REJECTED', 'not today'), 'a')
  t.same(refused.seen.REJ, Buffer.alloc(148))
  const told = exchange({}, bytesOf(9), new WeirError('WEIR_REJECTED', 'not today'), null)
  t.match(told.left.error?.message, /not today/, 'a Weir host learns it')
})

t.test('hosts with a key speak in the private data: no other host connects to them', async t => {
  const secret = Buffer.alloc(32, 3)
  const { seen, heard, said } = exchange({ a: { secret }, b: { secret } }, bytesOf(9), bytesOf(80), null)
  t.equal(seen.REQ!.subarray(0, 4).toString('latin1'), 'WEIR')
  t.same([heard, said], [bytesOf(9), bytesOf(80)])
})
