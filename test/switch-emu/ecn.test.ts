/** Which packets of a burst a switch marks or drops: ECN at enqueue, Fast ECN at dequeue, WRED for the rest. */
import t from 'tap'
import { ECN_CE } from '../../lib/wire/net/ipv4.js'
import type { FeatureOptions } from '../../switch-emu/core/catalogue.js'
import { ecn } from '../../switch-emu/core/forwarding/ip-header.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, starSwitch } from './helpers.js'

const BURST = 20
const STEP = { kminBytes: 10_000, kmaxBytes: 10_000, pmax: 1 } // above 10 packets of 1000 B: all of them

/**
 * A burst of 20 packets at once, numbered from 0. Returns those that leave with a mark, and those that leave
 * at all.
 */
function burst(at: 'enqueue' | 'dequeue', tos: number, more: FeatureOptions = {}) {
  const { node, pool } = starSwitch({
    ports: [{ rateBps: 100e9 }, { rateBps: 1e9 }],
    classifier: { dscp: { 24: 3 } },
    features: { ecn: { ...STEP, at }, ...more },
  })
  const marked: number[] = []
  const left: number[] = []
  const psn = (view: DataView, bth: number) => view.getUint32(bth + 8) & 0xffffff
  const each = (frame: Parameters<Parameters<typeof drain>[2]>[0]) => {
    if (frame.l3 >= 0) {
      left.push(psn(frame.view, frame.bth))
      if (ecn(frame) === ECN_CE) marked.push(left.at(-1)!)
    }
    pool.give(frame)
  }
  for (let n = 0; n < BURST; n++) {
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes: 1000, tos, psn: n }))
    drain(node, 0, each)
  }
  drain(node, Number.MAX_SAFE_INTEGER, each)
  return { marked, left, report: node.report(1e9, 1) }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

t.test('at enqueue: those that find more than Kmin, the last of the burst', async t => {
  const { marked, left, report } = burst('enqueue', 0x02)
  // Packet 0 goes at once; packet n finds n - 1 waiting.
  t.same(marked, range(12, 20))
  t.same(left, range(0, 20))
  t.equal(report.ecnMarks, 8)
})

t.test(
  'at dequeue: those that leave more than Kmin behind, the first of the burst: the news is not older',
  async t => {
    const { marked, left, report } = burst('dequeue', 0x02)
    // When packet n leaves 19 - n wait; packet 0 left before the others came.
    t.same(marked, range(1, 9))
    t.same(left, range(0, 20))
    t.equal(report.ecnMarks, 8)
  },
)

t.test('who does not understand ECN is dropped on entry, wherever marks are set', async t => {
  for (const at of ['enqueue', 'dequeue'] as const) {
    const { marked, left, report } = burst(at, 0x00)
    t.same(marked, [])
    // Each dropped packet leaves the queue unchanged: 11 wait, and all others find them.
    t.same(left, range(0, 12))
    t.equal(report.dropsByReason.wred, 8)
  }
})

t.test('but not from a lossless priority', async t => {
  const pfc = { priorities: [3], xoffBytes: 1e6, headroomBytes: [1e5, 1e5] }
  const lossless = burst('enqueue', 24 << 2, { pfc })
  t.same(lossless.left, range(0, 20))
  t.equal(lossless.report.drops, 0)
  const lossy = burst('enqueue', 0, { pfc })
  t.equal(lossy.report.dropsByReason.wred, 8)
  t.same(burst('enqueue', (24 << 2) | 2, { pfc }).marked, range(12, 20), 'and it is marked like others')
})
