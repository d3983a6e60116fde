/**
 * The agreement at connect: what each controller needs, what the other end grants, and what follows if it
 * does not.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { connected, frameName, makePair, type PairOptions } from './pair.js'

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
  const pair = makePair({ a: { secret: Buffer.alloc(32, 7), receiveBudgetBytes: 2 ** 50, ...cc('rx-hpcc') } })
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
  t.throws(connect(16), { code: 'WEIR_BAD_ARGUMENT', message: /16 bytes is 2 too long.*rx-hpcc.*key/ })
  t.doesNotThrow(connect(14))
})
