/**
 * The agreement at connect: what each controller needs, what the other end grants, and what follows if it
 * does not.
 */
import t from 'tap'
import { ownOffer } from '../../lib/cc/catalogue.js'
import { grantedOf, offerOfPeer } from '../../lib/cc/needs.js'
import type { ConnectParameters } from '../../lib/cm/weir-private-data.js'
import type { Frame } from '../../lib/frame/frame.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import { NeedId } from '../../lib/wire/weir/needs.js'
import { say, works } from '../attack/third-party.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { App, connected, frameName, makePair, type PairOptions } from './pair.js'

function agreedStats(options: PairOptions, change: (frame: Frame, name: string) => void = () => {}) {
  const pair = makePair(options)
  pair.tap.watch = frame => {
    change(frame, frameName(frame))
    return true
  }
  const { left, right } = connected(pair)
  pair.settle()
  return { pair, left: left.connection!.stats, right: right.connection!.stats }
}

const cc = (name: string, options = {}) => ({ cc: { name, options }, baseRttNs: 20_000 })

t.test('both ends report what each does for the other', async t => {
  const { left, right } = agreedStats({ a: cc('rx-hpcc'), b: cc('fixed-window') })
  t.same(left.feedbackGranted, ['telemetry', 'windows by rx-hpcc'])
  t.same(left.feedbackRefused, [])
  t.same(left.feedbackGiven, [])
  t.same(right.feedbackGiven, left.feedbackGranted)
  t.same(right.feedbackGranted, [])
  t.match(left, { controller: 'rx-hpcc', controllerReason: 'as configured' })
})

/** Changes bytes in the private data of a message, after the word WEIR. */
function rewrite(frame: Frame, change: (words: Buffer) => void): void {
  const at = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4)
  change(frame.bytes.subarray(at))
  icrc.write(frame)
}

t.test('an older Weir host says nothing of needs: it is taken to do what it always did', async t => {
  const older = (frame: Frame, name: string) => {
    // The features are the two bytes after the tag 0x10. Older ones are in the first seven bits.
    if (name === 'REQ' || name === 'REP')
      rewrite(frame, words => {
        t.equal(words[7], 0x10, 'features')
        words[8] = words[8]! & (0x80 | 0x1f)
        words[9] = 0
      })
  }
  const { left, right, pair } = agreedStats({ a: cc('rx-hpcc'), b: cc('rx-hpcc') }, older)
  t.same(left.feedbackGranted, ['telemetry', 'windows by rx-hpcc'])
  t.same(right.feedbackGiven, [], 'nobody has asked for it by words')
  t.match(left, { controller: 'rx-hpcc' })
  t.equal(pair.b.counters.feedback.badRequests, 0)
})

t.test('a plain RoCEv2 peer grants no windows: the controller gives way as its entry says', async t => {
  const plain = (frame: Frame, name: string) => {
    if (name === 'REP') rewrite(frame, words => words.write('weir'))
  }
  const { left } = agreedStats({ a: cc('rx-hpcc', { eta: 0.9, ackPackets: 4 }) }, plain)
  t.same(left.feedbackGranted, [])
  t.same(left.feedbackRefused, ['telemetry', 'windows by rx-hpcc'])
  t.match(left, { controller: 'hpcc', controllerReason: /rx-hpcc.*windows by rx-hpcc/ })
})

t.test('what an application sends along must fit beside the needs', async t => {
  const pair = makePair({
    a: { secret: Buffer.alloc(32, 7), receiveBudgetBytes: 22_369_621, ...cc('rx-hpcc') },
  })
  const connect = (bytes: number) => () =>
    pair.a.connect(
      0,
      pair.b.address,
      9,
      { onEstablished() {}, onCompletion() {}, onClosed() {} },
      {
        privateData: new Uint8Array(bytes),
      },
    )
  t.throws(connect(20), { code: 'WEIR_BAD_ARGUMENT', message: /20 bytes is 2 too long.*rx-hpcc.*key/ })
  t.doesNotThrow(connect(18))
})

/** What the data of a carries in the ECN field: 0 = not ECN-capable, 2 = ECT(0). */
function markable(options: PairOptions, change: (frame: Frame) => void = () => {}) {
  const pair = makePair(options)
  const { watch } = pair.tap
  pair.tap.watch = (frame, now, fromA) => {
    change(frame)
    return watch(frame, now, fromA)
  }
  const { left, right } = connected(pair)
  const seen = new Set<number>()
  pair.tap.watch = (frame, _now, fromA) => {
    const { view, l3 } = frame
    if (fromA && frame.payloadLength > 0)
      seen.add(options.v6 === true ? ipv6.ecn(view, l3) : ipv4.ecn(view, l3))
    return true
  }
  t.ok(works(pair, left, 1))
  return { ecn: [...seen], left: left.connection!.stats, right: right.connection!.stats }
}

t.test(
  'a controller that reacts to marks sends ECN-capable packets only to a peer that reports marks',
  async t => {
    for (const v6 of [false, true]) {
      const told = markable({ v6, a: cc('cubic') })
      t.match(told.left.feedbackGranted, ['telemetry', 'reports of CE marks'])
      t.match(told.right.feedbackGiven, told.left.feedbackGranted)
      t.same(told.ecn, [ipv4.ECN_ECT0])
      const blind = markable({ v6, a: cc('cubic'), b: { seesMarks: false } })
      t.same(blind.left.feedbackRefused, ['reports of CE marks'])
      t.same(blind.ecn, [0], 'a host whose socket hides marks')
    }
    t.same(
      markable({ a: cc('hpcc'), b: { seesMarks: false } }).ecn,
      [ipv4.ECN_ECT0],
      'one that does not care',
    )
    const plain = markable({ a: cc('cubic'), b: { recovery: 'goBackN' } }, takeWordsOut)
    t.same(plain.left.feedbackGranted, ['reports of CE marks'], 'a plain RoCEv2 peer sends CNPs')
    t.same(plain.ecn, [ipv4.ECN_ECT0])
  },
)

t.test('a host grants no hop counts where its socket hides them', async t => {
  const offer = (seesHops: boolean) => ownOffer({ seesHops, seesMarks: true, ackEveryPackets: 1 })
  const need = { id: NeedId.HOP_COUNT, value: 0 }
  t.same(grantedOf(offer(true), need), need)
  t.equal(grantedOf(offer(false), need), null)
})

t.test('a Weir host from before marks and probes were needs does what it did', async t => {
  const older = (frame: Frame, name: string) => {
    if (name === 'REQ' || name === 'REP')
      say(frame, words => ({ ...words, features: words.features & 0x7ff, ackEvery: 0 }))
  }
  const { left } = agreedStats({ a: cc('cubic'), b: cc('cubic') }, older)
  t.same(left.feedbackGranted, ['telemetry', 'reports of CE marks'])
  t.same(left.feedbackRefused, [])
})

t.test(
  'lists that break a rule, and values out of range: nothing throws, and nothing of them is granted',
  async t => {
    const bytes = (...list: number[]) => Uint8Array.from(list)
    const nothing = { needs: bytes(), ackEvery: 0 }
    const cases: [string, Partial<ConnectParameters>, boolean][] = [
      ['an id of 0', { needs: bytes(0) }, false],
      ['a value behind the end', { needs: bytes(0x0c, 1) }, false],
      ['a need twice', { needs: bytes(0x38, 0x38) }, false],
      ['ids that nobody knows', { needs: bytes(0xf8, 0xf1, 1, 0xe7, 1, 2, 3, 4, 5, 6, 7) }, true],
      ['an interval of CNPs of 0 and one of 71 minutes', { needs: bytes(0x28) }, true],
      ['an ACK each 0 packets', { needs: bytes(0x40) }, true],
      ['an ACK each 4 billion packets', { needs: bytes(0x44, 255, 255, 255, 255) }, true],
      ['telemetry in a way that there is not', { needs: bytes(0x09, 9) }, true],
      ['a receiving part that there is not', { needs: bytes(0x31, 200) }, true],
      ['a mark with a value', { needs: bytes(0x39, 1) }, true],
      ['all features', { features: 0xffff_ffff }, true],
    ]
    for (const [what, changed, isRead] of cases) {
      const lie = (frame: Frame, name: string) => {
        if (name === 'REQ') say(frame, words => ({ ...words, ...nothing, ...changed }))
      }
      const { left, right, pair } = agreedStats({ a: cc('fixed-window'), b: cc('cubic') }, lie)
      t.same(right.feedbackGiven, [], what)
      t.equal(
        right.feedbackGranted.includes('telemetry'),
        isRead,
        `${what}: words that cannot be read are none`,
      )
      t.equal(pair.pool.inUse, 0)
      t.ok(left.controller !== '', what)
    }
    const greatest = agreedStats({ a: cc('fixed-window'), b: cc('fixed-window') }, (frame, name) => {
      if (name === 'REQ') say(frame, words => ({ ...words, needs: bytes(0x42, 255, 255) }))
    })
    t.same(greatest.right.feedbackGiven, ['an ACK each 65535 packets'], 'the greatest number')
  },
)

t.test(
  'beside the words of a key an application has 16 bytes, whichever of the usual controllers needs what',
  async t => {
    for (const name of ['hpcc', 'rx-hpcc', 'cubic', 'auto', 'fixed-window']) {
      const host = { secret: Buffer.alloc(32, 7), receiveBudgetBytes: 2 ** 28 - 1, ackEveryPackets: 16 }
      const pair = makePair({ a: { ...host, ...cc(name) } })
      const handler = { onEstablished() {}, onCompletion() {}, onClosed() {} }
      const options = { privateData: new Uint8Array(16) }
      t.doesNotThrow(() => pair.a.connect(0, pair.b.address, 9, handler, options), name)
    }
  },
)

t.test('a REQ without room for how often its host acknowledges leaves that out: the peer asks', async t => {
  const secret = Buffer.alloc(32, 7)
  const host = { secret, receiveBudgetBytes: 2 ** 28 - 1, ...cc('rx-hpcc') }
  for (const [bytes, leavesOut] of [
    [15, false],
    [16, true],
  ] as const) {
    const pair = makePair({ a: { ...host, ackEveryPackets: 128 }, b: { secret } })
    let said: ConnectParameters | undefined
    pair.tap.watch = (frame, _now, fromA) => {
      if (fromA && frameName(frame) === 'REQ') {
        say(frame, words => {
          said = words
          return words
        })
      }
      return true
    }
    const data = Buffer.alloc(bytes, 5)
    const left = new App(pair.a)
    pair.b.listen(9, { accept: () => new App(pair.b) })
    pair.a.connect(0, pair.b.address, 9, left, { privateData: data })
    pair.settle()
    t.ok(left.log.includes('established'), `${bytes} bytes`)
    t.same(said!.applicationData, data)
    t.equal(said!.ackEvery, leavesOut ? 0 : 128)
    const need = { id: NeedId.ACK_EVERY, value: 16 }
    t.same(grantedOf(offerOfPeer(said!), need), leavesOut ? null : { ...need, value: 128 })
  }
})
