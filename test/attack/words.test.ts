/**
 * Somebody on the path between two hosts with a key changes what they say to each other at connect: takes needs or features away,
 * adds some, replays what was said on another connection. The proof in the REP covers all of it. Each test says what the hosts see.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import t, { type Test } from 'tap'
import type { ConnectParameters as Said } from '../../lib/cm/weir-private-data.js'
import { requestWords } from '../../lib/nic/keys/connection-key.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as needs from '../../lib/wire/weir/needs.js'
import { App, frameName, makePair, type Pair, PORT } from '../nic/pair.js'
import { say, works } from './third-party.js'

const SECRET = Buffer.from('correct horse battery staple')
const NONE = new Uint8Array(0)
const CC = { cc: { name: 'rx-hpcc', options: {} } }

type Change = (said: Said) => Said

/** A connection from a to b on whose path those messages are changed. */
function connect(changes: { REQ?: Change; REP?: Change }, more = CC, seed = 1) {
  const pair = makePair({
    seed,
    a: { secret: SECRET, ...more },
    b: { secret: SECRET, ackEveryPackets: 4, ...more },
  })
  const { watch } = pair.tap
  const said: Said[] = []
  let changed = 0
  pair.tap.watch = (frame, now, fromA) => {
    const name = frameName(frame)
    if (name === 'REQ' || name === 'REP') {
      say(frame, words => {
        said.push(words)
        return words
      })
      const change = changes[name]
      if (change !== undefined) {
        changed++
        say(frame, change)
      }
    }
    return watch(frame, now, fromA)
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  pair.until(() => left.closed > 0 || (left.log.includes('established') && right.log.includes('established')))
  return { pair, left, right, said, changed: () => changed }
}

function refuses(t: Test, { pair, left, right, changed }: ReturnType<typeof connect>, what: string): void {
  t.ok(changed() > 0, what)
  t.equal(left.error?.code, 'WEIR_REJECTED', what)
  t.match(left.error?.message, /somebody on the path has changed what the two hosts said/, what)
  t.notOk(left.log.includes('established'), what)
  pair.settle()
  t.equal(right.closed, 1, `${what}: the other end hears of it`)
  t.equal(pair.pool.inUse, 0)
}

/** Without the last byte of its value. */
const shorter = (list: Uint8Array) => needs.encode(needs.decode(list)!.slice(0, -1))

const CHANGES: [string, { REQ?: Change; REP?: Change }][] = [
  ['needs taken out of the REQ', { REQ: said => ({ ...said, needs: NONE }) }],
  ['one need taken out of the REQ', { REQ: said => ({ ...said, needs: shorter(said.needs) }) }],
  ['a need added to the REQ', { REQ: said => ({ ...said, needs: Uint8Array.of(...said.needs, 0x48) }) }],
  ['features taken out of the REQ', { REQ: said => ({ ...said, features: said.features & 0x1f }) }],
  [
    'features added to the REQ',
    { REQ: said => ({ ...said, features: (said.features | 0x8000_0000) >>> 0 }) },
  ],
  ['another path MTU in the REQ', { REQ: said => ({ ...said, pathMtu: 256 }) }],
  ['filled packets in the REQ', { REQ: said => ({ ...said, filledPayload: 1400 }) }],
  ['filled packets in the REP', { REP: said => ({ ...said, filledPayload: 1400 }) }],
  ['no ICRC in the REQ', { REQ: said => ({ ...said, withoutIcrc: true }) }],
  ['no ICRC in the REP', { REP: said => ({ ...said, withoutIcrc: true }) }],
  ['a budget in the REQ', { REQ: said => ({ ...said, receiveBudgetBytes: 1 }) }],
  ['a budget of the whole host in the REQ', { REQ: said => ({ ...said, hostBudgetUnits: 1 }) }],
  ['words of the application in the REQ', { REQ: said => ({ ...said, applicationData: Uint8Array.of(1) }) }],
  ['needs taken out of the REP', { REP: said => ({ ...said, needs: NONE }) }],
  ['features taken out of the REP', { REP: said => ({ ...said, features: said.features & 0x1f }) }],
  ['how often the REP grants acknowledgements', { REP: said => ({ ...said, ackEvery: 0 }) }],
  ['another number of packets there', { REP: said => ({ ...said, ackEvery: 99 }) }],
  ['words of the application in the REP', { REP: said => ({ ...said, applicationData: Uint8Array.of(1) }) }],
  ['the proof taken out of the REP', { REP: said => ({ ...said, wordsProof: NONE }) }],
  [
    'the proof and the features taken out, as of an older host',
    { REP: said => ({ ...said, features: said.features & 0x1f, wordsProof: NONE }) },
  ],
  [
    'one bit of the proof in the REP',
    { REP: said => ({ ...said, wordsProof: said.wordsProof.map((byte, i) => (i === 7 ? byte ^ 4 : byte)) }) },
  ],
]

for (const [what, changes] of CHANGES) {
  t.test(`${what}: 1 packet; the connection is refused`, async t => refuses(t, connect(changes), what))
}

t.test('nothing changed: the connection is made, and works', async t => {
  const { pair, left, said } = connect({})
  t.ok(works(pair, left, 1))
  t.same(left.connection!.stats.feedbackGranted, ['telemetry', 'windows by rx-hpcc'])
  t.equal(said.at(-1)!.wordsProof.length, 16)
})

t.test('another path MTU where RoCEv2 itself says it: the hosts go by their words', async t => {
  const pair = makePair({ a: { secret: SECRET }, b: { secret: SECRET } })
  pair.tap.watch = frame => {
    if (frameName(frame) === 'REQ') {
      // IBA 12.6.5: its high half is the path MTU; 1 stands for 256 bytes.
      const at = frame.payload + 74
      frame.bytes[at] = (1 << 4) | (frame.bytes[at]! & 15)
      icrc.write(frame)
    }
    return true
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.log.includes('established')))
  t.equal(left.connection!.pathMtu, 1024)
  t.equal(right.connection!.pathMtu, 1024)
  t.ok(works(pair, left, 1))
})

t.test('bytes of a REQ that look like a proof are its own: the connection is made', async t => {
  // Tag and length of a proof, 18 bytes before the end of the REQ: there the nonce begins, which may be anything.
  let drawn = 0x6210_0000
  const random = () => drawn++
  const settings = { cc: { name: 'cubic', options: {} }, ackEveryPackets: 16, random }
  const { left, said } = connect({}, settings)
  const [asked] = said
  t.same([...asked!.keyWords.subarray(0, 2)], [0x62, 0x10])
  t.equal(asked!.needs.length, 2, 'so the nonce begins at that place')
  t.equal(left.error, null)
  t.ok(left.log.includes('established'))
})

t.test("a REP of another connection, and its proof on this one's: refused", async t => {
  const [earlier] = connect({}, CC, 2).said.slice(-1)
  const whole = connect({ REP: () => earlier! })
  t.match(whole.left.error?.message, /another key/, 'its nonce is not for this request')
  refuses(t, connect({ REP: said => ({ ...said, wordsProof: earlier!.wordsProof }) }), 'the proof alone')
})

/** What a host from before this proof answers: by RFC 5869 and the words of that version, not by the code under test. */
function olderReply(keyWords: Uint8Array, nonce: Buffer): Buffer {
  const salt = Buffer.concat([keyWords.subarray(0, 8), nonce])
  const derived = Buffer.from(hkdfSync('sha256', SECRET, salt, 'weir feedback 1', 56))
  return Buffer.concat([nonce, derived.subarray(32, 40)])
}

t.test(
  'an older passive end proves no words: the connection is made, and what it says is not covered',
  async t => {
    let asked: Uint8Array = NONE
    const older: Change = said => ({
      ...said,
      keyWords: olderReply(asked, Buffer.alloc(8, 7)),
      wordsProof: NONE,
      features: said.features & 0x7ff,
    })
    const { left, changed } = connect({
      REQ: said => {
        asked = said.keyWords
        return said
      },
      REP: older,
    })
    t.equal(changed(), 2)
    t.ok(left.log.includes('established'))
    t.same(left.connection!.stats.feedbackRefused, [])
  },
)

t.test('an older passive end takes the REQ: its proof is what it was', async t => {
  const words = requestWords(SECRET, () => 0x01020304, 77, 1234)
  const nonce = Buffer.from('0102030401020304', 'hex')
  const hmac = createHmac('sha256', SECRET).update('weir feedback 1 request 77 1234 ').update(nonce)
  t.same(Buffer.from(words), Buffer.concat([nonce, hmac.digest().subarray(0, 4)]))
})

t.test('an older active end reads the REP: the first 8 bytes of the proof are what they were', async t => {
  const { said } = connect({})
  const [asked, answered] = said.slice(-2)
  const nonce = Buffer.from(answered!.keyWords.subarray(0, 8))
  t.same(Buffer.from(answered!.keyWords), olderReply(asked!.keyWords, nonce))
})

t.test('without a key nothing is covered: a host goes by what it reads', async t => {
  const pair: Pair = makePair({ a: CC, b: CC })
  pair.tap.watch = frame => {
    if (frameName(frame) === 'REP') say(frame, said => ({ ...said, features: said.features & ~0x400 }))
    return true
  }
  const left = new App(pair.a)
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.log.includes('established')))
  t.same(left.connection!.stats.feedbackRefused, ['windows by rx-hpcc'])
})
