/**
 * Feedback on connections with a key: a peer without the key is refused, and forged, replayed or damaged
 * feedback has no effect.
 */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import {
  answerRequest,
  type ConnectWords,
  provesRequest,
  provesWords,
  requestWords,
  takeReply,
  wordsProof,
} from '../../lib/nic/keys/connection-key.js'
import { ReplayWindow } from '../../lib/nic/keys/replay-window.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { parseFrame } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as feedbackTag from '../../lib/wire/weir/feedback-tag.js'
import { usual, variants } from '../support/long.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import {
  App,
  connected,
  makePair,
  memoryOf,
  type Pair,
  type PairOptions,
  PORT,
  RATE_BPS,
  refusal,
} from './pair.js'

const seed = drawnSeed(t)

const SECRET = Buffer.from('correct horse battery staple')
const OTHER = Buffer.from('incorrect horse battery staple')

function keyedPair(more: PairOptions = {}): Pair {
  return makePair({ ...more, a: { secret: SECRET, ...more.a }, b: { secret: SECRET, ...more.b } })
}

function write(pair: Pair, app: App, id: number, bytes: number): void {
  const here = memoryOf(pair.a, Buffer.alloc(bytes))
  const there = memoryOf(pair.b, Buffer.alloc(bytes))
  const remote = { remoteAddress: there.address, rkey: there.key }
  const work = { id, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: bytes, ...remote }
  if (!app.connection!.postSend(pair.network.now, work)) throw new Error('send queue full')
}

/** A link without a queue, stamped as its switch would. */
function stamper(qlen: (n: number) => number = () => 0) {
  let txBytes = 0
  let n = 0
  return (frame: Frame, now: number) => {
    if (frame.shim < 0 || intShim.isEcho(frame.view, frame.shim)) return
    if (frame.payloadLength === 0 && bth.opcode(frame.view, frame.bth) !== Opcode.PROBE) return
    intShim.stamp(frame.view, frame.shim, frame.bth, {
      switchId: 1,
      egressPort: 1,
      rateBps: RATE_BPS,
      startNs: now,
      txBytes,
      qlenBytes: qlen(n++),
    })
    txBytes += frame.wireLength
  }
}

function isFeedback(frame: Frame): boolean {
  return frame.bth >= 0 && frame.payload >= 0 && feedbackTag.isOn(bth.opcode(frame.view, frame.bth))
}

/** A copy of the frame as an attacker sends it: parsed again, with a right ICRC. */
function inject(pair: Pair, bytes: Uint8Array, change: (frame: Frame) => void): void {
  const frame = pair.pool.take()!
  frame.bytes.set(bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  parseFrame(frame)
  change(frame)
  if (frame.bth >= 0) icrc.write(frame)
  frame.l3 = -1
  pair.a.onFrame(pair.network.now, 0, frame)
}

/** A listener without a key, or with another one, and a connection with one; and the other way round. */
function attempt(options: PairOptions): { why: string; accepted: boolean; closed: number } {
  const pair = makePair(options)
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  pair.until(() => left.closed > 0 || left.log.includes('established'))
  pair.settle()
  return {
    why: left.error === null ? '' : `${left.error.code}: ${left.error.message}`,
    accepted: left.log.includes('established') || right.log.includes('established'),
    closed: left.closed,
  }
}

usual('both ends need the same key, or none', async t => {
  const both = attempt({ a: { secret: SECRET }, b: { secret: Buffer.from(SECRET) } })
  t.same([both.accepted, both.why], [true, ''])
  const cases: [string, PairOptions, RegExp][] = [
    [
      'without a key to one with',
      { b: { secret: SECRET } },
      /only connections with its key: give --key-file/,
    ],
    ['with a key to one without', { a: { secret: SECRET } }, /has no key/],
    ['two keys', { a: { secret: SECRET }, b: { secret: OTHER } }, /another key/],
  ]
  for (const [what, options, words] of cases) {
    const { why, accepted, closed } = attempt(options)
    t.match(why, /^WEIR_REJECTED/, what)
    t.match(why, words, what)
    t.equal(accepted, false, `${what}: nobody saw it established`)
    t.equal(closed, 1)
  }
  for (const bytes of [15, 1025]) {
    t.match(
      refusal(() => makePair({ a: { secret: Buffer.alloc(bytes) } }), 'WEIR_BAD_ARGUMENT'),
      new RegExp(`${bytes} bytes`),
    )
  }
})

usual('a plain librdmacm peer, whose private data is not that of a Weir host, is refused', async t => {
  const pair = makePair({ b: { secret: SECRET } })
  pair.tap.watch = frame => {
    takeWordsOut(frame)
    return true
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed > 0))
  t.equal(left.error!.code, 'WEIR_REJECTED')
  t.same(right.log, [], 'its application never heard of it')
})

usual('a reply by who has not the secret ends the connection before anybody uses it', async t => {
  // B accepts without checking the proof: it answers with data of its own.
  const pair = keyedPair()
  pair.tap.watch = (frame, _now, fromA) => {
    const at = Buffer.from(frame.bytes.buffer, frame.bytes.byteOffset, frame.length).lastIndexOf('WEIR')
    if (!fromA && at >= 0) {
      // Field 9, of 16 bytes: the first of the nonce.
      const nonce = frame.bytes.indexOf(Uint8Array.of(0x4a, 16), at) + 2
      frame.bytes[nonce] = frame.bytes[nonce]! ^ 1
      icrc.write(frame)
    }
    return true
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed > 0))
  t.match(left.error!.message, /another key/)
  t.notOk(left.log.includes('established'))
})

usual('the proofs: of the secret, the nonces, queue pair and PSN', async t => {
  const random = new Random(seed)
  const draw = () => random.u32()
  const words = requestWords(SECRET, draw, 77, 1234)
  t.ok(provesRequest(words, SECRET, 77, 1234))
  t.notOk(provesRequest(words, OTHER, 77, 1234))
  t.notOk(provesRequest(words, SECRET, 78, 1234))
  t.notOk(provesRequest(words, SECRET, 77, 1235))
  t.notOk(provesRequest(words.subarray(1), SECRET, 77, 1234))
  const reply = answerRequest(words, SECRET, draw)
  t.ok(takeReply(words, reply.words, SECRET))
  t.notOk(takeReply(words, reply.words, OTHER))
  t.notOk(takeReply(requestWords(SECRET, draw, 77, 1234), reply.words, SECRET), 'a replayed reply')
  t.notOk(takeReply(words, reply.words.subarray(0, 15), SECRET))
  const exchange: ConnectWords = {
    request: Buffer.from('request'),
    reply: Buffer.from('reply'),
    activeQpn: 1,
    passiveQpn: 2,
    activePsn: 3,
    passivePsn: 4,
  }
  const key = takeReply(words, reply.words, SECRET)!.wordsKey!
  const proof = wordsProof(reply.wordsKey!, exchange)
  t.ok(provesWords(proof, key, exchange))
  t.notOk(provesWords(proof.subarray(1), key, exchange))
  const others: Partial<ConnectWords>[] = [
    { request: Buffer.from('requesu') },
    { reply: Buffer.from('repl') },
    { request: Buffer.from('requestr'), reply: Buffer.from('eply') },
    { activeQpn: 2, passiveQpn: 1 },
    { activePsn: 4 },
    { passivePsn: 3 },
  ]
  for (const other of others) t.notOk(provesWords(proof, key, { ...exchange, ...other }))
})

/** A third of them replays; a multiple of 3. */
const ATTACKS = 9_999

for (const [what, options] of variants(
  [
    ['acknowledgements', {}],
    ['notifications', { b: { telemetry: { answer: 'notify' } } }],
    ['probes', { a: { telemetry: { collect: 'probe', probeShare: 1 } } }],
    ['windows of the receiver', { a: { cc: { name: 'rx-hpcc', options: { ackPackets: 0 } } } }],
    ['acknowledgements over IPv6', { v6: true }],
  ] as [string, PairOptions][],
  2,
)) {
  t.test(
    `${what}: the window goes as it does without a key, and forgeries and replays do not move it`,
    async t => {
      const run = (more: PairOptions, attack: boolean) => {
        const pair = makePair({ ...options, a: { ...options.a, ...more.a }, b: { ...options.b, ...more.b } })
        const { left } = connected(pair)
        const stamp = stamper(n => (n % 50) * 1000)
        const recorded: Uint8Array[] = []
        const windows: number[] = []
        let untagged = 0
        let passed = 0
        pair.tap.watch = (frame, now, fromA) => {
          stamp(frame, now)
          if (isFeedback(frame)) {
            passed++
            // Probes that measure T are as long as data.
            if (frame.payloadLength === 1024) passed--
            else if (frame.payloadLength < feedbackTag.BYTES) untagged++
            if (!fromA) recorded.push(Uint8Array.from(frame.bytes.subarray(0, frame.length)))
          }
          if (left.connection!.stats.windowBytes > 0) windows.push(left.connection!.stats.windowBytes)
          return true
        }
        write(pair, left, 1, 300 * 1024)
        const done = pair.until(() => left.log.includes('completion 1 SUCCESS'))
        pair.settle()
        const { windowBytes: window, rateBps } = left.connection!.stats
        const before = { window, rateBps, rx: { ...pair.a.counters.rx } }
        let sent = 0
        if (attack) {
          const random = new Random(seed)
          const int = (n: number) => random.u32() % n
          for (let n = 0; n < ATTACKS; n++, sent++) {
            const bytes = recorded[int(recorded.length)]!
            if (n % 3 === 0)
              inject(pair, bytes, () => {}) // a replay
            else if (n % 3 === 1) {
              // A flipped bit of what the tag covers, or of the tag, that leads to the same queue pair:
              // marks, PSN, headers, telemetry.
              inject(pair, bytes, frame => {
                const { bth: at, payload, shim } = frame
                const places = [at + 4, at + 9, at + 10, at + 11]
                for (let i = at + 12; i < payload + feedbackTag.BYTES; i++) places.push(i)
                if (shim >= 0) for (let i = shim + 4; i < at; i++) places.push(i)
                const place = places[int(places.length)]!
                frame.bytes[place]! ^= 1 << int(8)
              })
            } else {
              // Invented: a full queue, a new number, a random tag.
              inject(pair, bytes, frame => {
                for (let i = 4; i < 16; i++) frame.bytes[frame.payload + i] = int(256)
                if (frame.shim >= 0 && frame.bth - frame.shim >= 32)
                  frame.view.setUint32(frame.shim + 28, 9_000_000)
              })
            }
          }
        }
        return { pair, left, windows, untagged, passed, done, before, sent, recorded }
      }
      const secret = { a: { secret: SECRET }, b: { secret: SECRET } }
      const plain = run({}, false)
      const keyed = run(secret, true)
      t.ok(plain.done && keyed.done)
      t.equal(plain.untagged, plain.passed, 'no tags without a key')
      t.equal(keyed.untagged, 0, 'all are tagged with one')
      t.ok(keyed.recorded.length > 1)
      const lowest = (windows: number[]) => Math.min(...windows)
      t.ok(lowest(keyed.windows) < keyed.windows[0]! / 1.2, 'telemetry moves the window')
      const ratio = lowest(keyed.windows) / lowest(plain.windows)
      t.ok(ratio > 0.7 && ratio < 1.4, `lowest window ${ratio} of that without a key`)
      const { rx } = keyed.pair.a.counters
      const refused = rx.forgedFeedback + rx.replayedFeedback + rx.untaggedFeedback
      const elsewhere = rx.malformed - keyed.before.rx.malformed
      t.equal(refused + elsewhere, keyed.sent, 'all are counted')
      t.equal(rx.replayedFeedback, keyed.sent / 3)
      t.equal(keyed.left.connection!.stats.refusedFeedback, refused)
      t.equal(keyed.left.connection!.stats.windowBytes, keyed.before.window, 'the window is where it was')
      t.equal(keyed.left.connection!.stats.rateBps, keyed.before.rateBps, 'and the rate')
      t.equal(keyed.pair.pool.inUse, 0)
    },
  )
}

usual('cut off, or in the name of a switch: refused', async t => {
  const pair = keyedPair()
  const { left } = connected(pair)
  const stamp = stamper()
  let ack: Uint8Array | null = null
  pair.tap.watch = (frame, now, fromA) => {
    stamp(frame, now)
    if (!fromA && isFeedback(frame)) ack = Uint8Array.from(frame.bytes.subarray(0, frame.length))
    return true
  }
  write(pair, left, 1, 10 * 1024)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  const { windowBytes } = left.connection!.stats
  let sent = 0
  for (let cut = 1; cut <= feedbackTag.BYTES; cut++, sent++) {
    const bytes = ack!.slice(0, ack!.length - cut)
    inject(pair, bytes, frame => {
      // Lengths that agree with what is left.
      frame.view.setUint16(16, bytes.length - 14)
      frame.view.setUint16(38, bytes.length - 34)
      parseFrame(frame)
    })
  }
  t.equal(pair.a.counters.rx.untaggedFeedback, sent)
  inject(pair, ack!, frame => {
    bth.write(
      frame.view,
      frame.bth,
      new bth.Bth({
        opcode: Opcode.DIRECT_NOTIFY,
        migrated: false,
        destQpn: bth.destQpn(frame.view, frame.bth),
        psn: 0,
      }),
    )
  })
  t.equal(pair.a.counters.rx.forgedFeedback, 1)
  t.equal(left.connection!.stats.windowBytes, windowBytes)
})

usual('data that claims to bring telemetry back is data, and no more', async t => {
  const pair = keyedPair()
  const { left, right } = connected(pair)
  pair.tap.watch = (frame, _now, fromA) => {
    // On the way to A, data becomes an echo of a full queue. Only the key can detect it.
    if (!fromA && frame.shim >= 0 && frame.payloadLength > 0) {
      intShim.stamp(frame.view, frame.shim, frame.bth, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE_BPS,
        startNs: pair.network.now,
        txBytes: 0,
        qlenBytes: 5_000_000,
      })
      intShim.setFlags(frame.view, frame.shim, intShim.FLAG_ECHO)
      icrc.write(frame)
    }
    return true
  }
  const here = memoryOf(pair.b, Buffer.alloc(8192, 7))
  const there = memoryOf(pair.a, Buffer.alloc(8192))
  right.connection!.postSend(pair.network.now, {
    id: 5,
    opcode: WorkOpcode.RDMA_WRITE,
    region: here,
    offset: 0,
    length: 8192,
    remoteAddress: there.address,
    rkey: there.key,
  })
  t.ok(pair.until(() => right.log.includes('completion 5 SUCCESS')))
  t.equal(there.buffer![8191], 7)
  t.equal(left.connection!.stats.pathHops, 0)
})

/** Puts random numbers into a replay window by a seed. Returns how many were accepted. */
function numbersTaken(t: Test, seed: number): number {
  const random = new Random(seed)
  const window = new ReplayWindow()
  const seen = new Set<number>()
  let highest = 0
  for (let n = 0; n < 100_000; n++) {
    const far = random.u32() % 1000 === 0 ? random.u32() % 5000 : random.u32() % 3
    const sequence = Math.max(0, highest + far - (random.u32() % 4 === 0 ? random.u32() % 1500 : 0))
    const expected = sequence > 0 && sequence > highest - 1024 && !seen.has(sequence)
    if (window.add(sequence) !== expected) t.fail(`number ${sequence}, highest ${highest}`)
    if (expected) seen.add(sequence)
    highest = Math.max(highest, expected ? sequence : 0)
  }
  return seen.size
}

usual('the replay window takes each number once, in any order, and none that is too old', async t => {
  const taken = numbersTaken(t, fixedSeed(t, 1))
  if (!isReplay) t.ok(taken > 1000, `${taken} numbers`)
  numbersTaken(t, drawnSeed(t))
})
