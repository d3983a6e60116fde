import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { Wred, WredVerdict } from '../../switch-emu/core/marking/wred.js'
import { buildFrame } from './build-frame.js'
import { HOST, seeded } from './helpers.js'

const ECN = { kminBytes: 100_000, kmaxBytes: 400_000, pmax: 0.2 }
const V6 = Uint8Array.from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])

t.test('the probability is a line from Kmin to Pmax at Kmax, and 1 above', async t => {
  const wred = new Wred(ECN, () => 0)
  const expected: [queueBytes: number, p: number][] = [
    [0, 0],
    [100_000, 0],
    [250_000, 0.1],
    [400_000, 0.2],
    [400_001, 1],
  ]
  for (const [bytes, p] of expected) t.equal(wred.probability(bytes), p, `${bytes} B`)
  const step = new Wred({ kminBytes: 300_000, kmaxBytes: 300_000, pmax: 1 }, () => 0)
  t.equal(step.probability(300_000), 0)
  t.equal(step.probability(300_001), 1)
})

t.test('marks come as often as the formula says: chi-square over 16 queue lengths', async t => {
  const random = seeded(t, 12)
  const wred = new Wred(ECN, () => random.next())
  const pool = new FramePool(1, HEADER_SLOT_BYTES)
  const frame = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 0x02 })
  const trials = 5_000
  let chiSquare = 0
  for (let i = 0; i < 16; i++) {
    const bytes = 110_000 + i * 18_000
    const p = (0.2 * (bytes - 100_000)) / 300_000
    let marks = 0
    for (let n = 0; n < trials; n++) {
      ipv4.setEcn(frame.view, frame.l3, ipv4.ECN_ECT0)
      if (wred.onEnqueue(frame, bytes) === WredVerdict.MARKED) marks++
    }
    chiSquare += (marks - trials * p) ** 2 / (trials * p * (1 - p))
  }
  // 16 degrees of freedom: 39.25 is passed once in a thousand seeds.
  t.ok(chiSquare < 39.25, `chi-square ${chiSquare.toFixed(1)}`)
})

t.test('who understands ECN is marked, who does not is dropped, who is marked already passes', async t => {
  const pool = new FramePool(1, HEADER_SLOT_BYTES)
  const wred = new Wred(ECN, () => 0)
  const verdictOf = (tos: number, from: number | Uint8Array, at: Wred = wred) => {
    const frame = buildFrame(pool, { from, to: from, tos })
    const verdict = at.onEnqueue(frame, 300_000)
    const ecn =
      ipv4.version(frame.view, frame.l3) === 4
        ? frame.view.getUint8(15) & 3
        : (frame.view.getUint8(15) >> 4) & 3
    if (ipv4.version(frame.view, frame.l3) === 4) t.ok(ipv4.verifyChecksum(frame.view, frame.l3), 'checksum')
    pool.give(frame)
    return [verdict, ecn]
  }
  for (const from of [HOST(0), V6]) {
    t.same(verdictOf(0x02, from), [WredVerdict.MARKED, 3], 'ECT(0)')
    t.same(verdictOf(0x69, from), [WredVerdict.MARKED, 3], 'ECT(1) with a DSCP')
    t.same(verdictOf(0x68, from), [WredVerdict.DROP, 0], 'not ECT')
    t.same(verdictOf(0x03, from), [WredVerdict.PASS, 3], 'CE')
  }
  const never = new Wred(ECN, () => 0.999999)
  t.same(verdictOf(0x02, HOST(0), never), [WredVerdict.PASS, 2])
  t.same(verdictOf(0x00, HOST(0), never), [WredVerdict.PASS, 0])
})

t.test('in a lossless queue who does not understand ECN is neither marked nor dropped', async t => {
  const pool = new FramePool(2, HEADER_SLOT_BYTES)
  const wred = new Wred(ECN, () => 0, false)
  const plain = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 0 })
  t.equal(wred.onEnqueue(plain, 400_001), WredVerdict.PASS)
  t.equal(plain.view.getUint8(plain.l3 + 1) & 3, ipv4.ECN_NOT_ECT)
  const capable = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 2 })
  t.equal(wred.onEnqueue(capable, 400_001), WredVerdict.MARKED)
})

t.test('at dequeue: marks as the frame leaves, drops as it enters', async t => {
  const pool = new FramePool(2, HEADER_SLOT_BYTES)
  const wred = new Wred({ ...ECN, at: 'dequeue' }, () => 0)
  const ect = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 0x02 })
  const plain = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 0x00 })
  t.equal(wred.onEnqueue(ect, 500_000), WredVerdict.PASS)
  t.equal(wred.onEnqueue(plain, 500_000), WredVerdict.DROP)
  t.notOk(wred.onDequeue(plain, 500_000))
  t.notOk(wred.onDequeue(ect, 100_000), 'not at Kmin')
  t.ok(wred.onDequeue(ect, 100_001))
  t.equal(ipv4.ecn(ect.view, ect.l3), ipv4.ECN_CE)
  t.notOk(wred.onDequeue(ect, 500_000), 'a mark is set once')
  t.notOk(new Wred(ECN, () => 0).onDequeue(plain, 500_000), 'at enqueue is the default')
})

t.test('randomness is drawn only where there is a choice', async t => {
  let drawn = 0
  const wred = new Wred(ECN, () => {
    drawn++
    return 0.5
  })
  const pool = new FramePool(1, HEADER_SLOT_BYTES)
  const frame = buildFrame(pool, { from: HOST(0), to: HOST(1), tos: 0x02 })
  wred.onEnqueue(frame, 50_000)
  wred.onEnqueue(frame, 200_000)
  t.equal(drawn, 1)
  t.equal(wred.onEnqueue(frame, 500_000), WredVerdict.MARKED)
  t.equal(drawn, 1)
})

t.test('settings are checked', async t => {
  for (const wrong of [{ kminBytes: -1 }, { kmaxBytes: 99_999 }, { pmax: 1.1 }, { pmax: Number.NaN }]) {
    t.throws(
      () => new Wred({ ...ECN, ...wrong }, () => 0),
      { code: 'WEIR_BAD_ARGUMENT' },
      JSON.stringify(wrong),
    )
  }
})
