/** Load in telemetry under priorities (draft-miao-rtgwg-hpccplus, discussion of QoS queueing). */
import t from 'tap'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import type { LoadViewOptions } from '../../switch-emu/core/telemetry/load-view.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, starSwitch } from './helpers.js'

/** 8 Gbit/s: a byte takes a nanosecond. */
const RATE = 8e9
const LOW = 0 << 2
const HIGH = 24 << 2

/** Sends frames of 1,000 bytes, given by time and TOS, to one port. Returns the record of each by its PSN. */
function records(
  loadView: LoadViewOptions | undefined,
  weights: number[] | undefined,
  frames: [number, number][],
) {
  const ports = [{ rateBps: RATE }, { rateBps: RATE, ...(weights && { weights }) }]
  const { node, pool } = starSwitch({
    ports,
    classifier: { dscp: { 24: 3 } },
    features: { telemetry: loadView },
  })
  const found = new Map<number, { rate: number; sent: number; queue: number; ts: number }>()
  for (const [psn, [now, tos]] of frames.entries()) {
    drain(node, now - 1, take)
    const spec = { from: HOST(0), to: HOST(1), wireBytes: 1000, tos, psn, int: { format: 0, slots: 1 } }
    node.onFrame(now, 0, buildFrame(pool, spec))
  }
  drain(node, 1e9, take)
  return found

  function take(frame: ReturnType<typeof buildFrame>): void {
    const hops = new HopRecords()
    intShim.read(frame.view, frame.shim, frame.bth, hops)
    const psn = frame.view.getUint32(frame.bth + 8) & 0xffffff
    found.set(psn, {
      rate: hops.rateBps[0]!,
      sent: hops.txBytes[0]!,
      queue: hops.qlenBytes[0]!,
      ts: hops.tsNs[0]!,
    })
    pool.give(frame)
  }
}

// Strict priority. One low frame is on the line from 1,000 to 2,000; then two low and two high ones wait.
const FRAMES: [number, number][] = [
  [1000, LOW],
  [1100, LOW],
  [1200, LOW],
  [1300, HIGH],
  [1400, HIGH],
]

t.test('whole ports: the length tells a high frame of low ones that do not delay it', async t => {
  const of = records(undefined, undefined, FRAMES)
  t.same(of.get(3), { rate: RATE, sent: 1000, queue: 3000, ts: 2000 })
  t.same(of.get(4), { rate: RATE, sent: 2000, queue: 2000, ts: 3000 })
  t.same(of.get(1), { rate: RATE, sent: 3000, queue: 1000, ts: 4000 })
})

t.test("a priority's own queue", async t => {
  const of = records({ queue: 'own' }, undefined, FRAMES)
  t.equal(of.get(3)!.queue, 1000)
  t.equal(of.get(4)!.queue, 0)
  t.equal(of.get(1)!.queue, 1000)
  t.equal(of.get(1)!.sent, 3000, 'the line is still shared')
})

t.test('sojourn time: start minus arrival, as the bytes that the link sends meanwhile', async t => {
  const of = records({ queue: 'sojourn' }, undefined, FRAMES)
  t.equal(of.get(0)!.queue, 0)
  t.equal(of.get(3)!.queue, 2000 - 1300)
  t.equal(of.get(4)!.queue, 3000 - 1400)
  t.equal(of.get(1)!.queue, 4000 - 1100, 'low ones have waited for the high ones')
  t.equal(of.get(2)!.queue, 5000 - 1200)
})

t.test(
  'deficit round robin: the guaranteed share as rate, with the bytes and the queue of that priority',
  async t => {
    const weights = [30, 0, 0, 70, 0, 0, 0, 0]
    const of = records({ rate: 'share' }, weights, FRAMES)
    t.equal(of.get(0)!.rate, 0.3 * RATE)
    t.equal(of.get(3)!.rate, 0.7 * RATE)
    t.same([of.get(3)!.sent, of.get(4)!.sent], [0, 1000], 'bytes of its priority alone')
    t.same([of.get(0)!.sent, of.get(1)!.sent, of.get(2)!.sent], [0, 1000, 2000])
    t.equal(of.get(4)!.queue, 0)
    const sojourn = records({ rate: 'share', queue: 'sojourn' }, weights, FRAMES)
    const { ts, queue } = sojourn.get(4)!
    t.equal(queue, (ts - 1400) * 0.7, 'sojourn x share')
    const strict = records({ rate: 'share' }, undefined, FRAMES)
    t.equal(strict.get(3)!.rate, RATE, 'a strict priority has no share')
  },
)

t.test('words that it does not know', async t => {
  const wrong = { queue: 'both' } as unknown as LoadViewOptions
  t.throws(() => starSwitch({ ports: [{ rateBps: RATE }], features: { telemetry: wrong } }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
})
