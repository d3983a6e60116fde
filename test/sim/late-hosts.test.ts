/** Hosts and switches whose processes do not run for some milliseconds now and then, as on a machine with more processes than cores. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import { fixedSeeds } from '../support/seeds.js'
import { beside, DAEMON, type FlowOutcome, goodputBps, WEIR_PACKET_BYTES } from './beside.js'
import type { PathOptions } from './bottleneck.js'
import { LateNode, type StallOptions, Stalls } from './late-node.js'
import { StubNode } from './stub-node.js'

const SEEDS = fixedSeeds([1, 2, 3])
const ms = (everyMs: number, mostMs: number): StallOptions => ({
  everyNs: everyMs * MILLISECOND,
  mostNs: mostMs * MILLISECOND,
})
const SENDER_LATE: PathOptions['late'] = { sender: ms(8, 12) }
const ALL_LATE: PathOptions['late'] = { sender: ms(10, 8), receiver: ms(10, 8), middle: ms(10, 4) }
/** As in a daemon: lib/daemon/open-nic.ts. */
const SLACK = { slackNs: MILLISECOND, pacingRunNs: MILLISECOND }
const WINDOW_SLACK_NS: Nanos = 4 * MILLISECOND

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length

/** Shares of the path's rate, and of packets dropped, in the mean over the seeds. */
function alone(rttMs: number, late: PathOptions['late'], windowSlackNs: Nanos) {
  const rateBps = 100e6
  const path = { rateBps, rttNs: rttMs * MILLISECOND, bufferBytes: (rateBps * rttMs) / 8e3, late }
  const config = { ...DAEMON, ...SLACK, windowSlackNs }
  const dropShare = ({ bytes, droppedPackets }: FlowOutcome) =>
    droppedPackets / (bytes.at(-1)! / WEIR_PACKET_BYTES + droppedPackets)
  const flows = SEEDS.map(seed => beside(path, [{ kind: 'weir', startNs: 0 }], 6, seed, config)[0]!)
  return {
    goodput: mean(flows.map(flow => goodputBps(flow) / rateBps)),
    drops: mean(flows.map(dropShare)),
  }
}

t.test('a process that stalls runs at all other times', async t => {
  const random = new Random(1)
  const stalls = new Stalls(ms(8, 12), () => random.next())
  let stalled = 0
  const samples = 20_000
  for (let i = 0; i < samples; i++) {
    const at = i * 100_000
    const awakeNs = stalls.awakeNs(at)
    const isRight = awakeNs >= at && awakeNs <= at + 12 * MILLISECOND && stalls.awakeNs(awakeNs) === awakeNs
    if (!isRight) t.fail(`${at}: ${awakeNs}`)
    if (awakeNs > at) stalled++
  }
  // 6 of 14 ms in the mean.
  t.ok(Math.abs(stalled / samples - 6 / 14) < 0.06, `${stalled / samples} of the time`)
  t.equal(stalls.awakeNs(0), 0, 'it may be asked about earlier times again')
})

t.test('what arrives in a stall waits for its end', async t => {
  const pool = new FramePool(4)
  const inner = new StubNode(pool)
  const stalls = new Stalls({ everyNs: 10, mostNs: 1_000 }, () => 0.5)
  const node = new LateNode(inner, stalls)
  /** By these numbers it stalls from 11 to 511. */
  for (const [now, tag] of [
    [5, 1],
    [20, 2],
    [400, 3],
  ] as const) {
    const frame = pool.take()!
    frame.view.setUint32(0, tag)
    node.onFrame(now, 0, frame)
  }
  t.same(inner.received, [{ now: 5, port: 0, tag: 1 }])
  t.equal(node.nextTimeout(), 511)
  node.onTimeout(511)
  const late = [2, 3].map(tag => ({ now: 511, port: 0, tag }))
  t.same(inner.received.slice(1), late)
})

t.test('a sender that stalls for up to 12 ms on a path of 10 ms makes up for a part of it', async t => {
  const [plain, slack] = [0, WINDOW_SLACK_NS].map(ns => alone(10, SENDER_LATE, ns)) as [Figures, Figures]
  t.comment(JSON.stringify({ plain, slack }))
  t.ok(slack.goodput > plain.goodput + 0.03, `${slack.goodput} against ${plain.goodput} of the rate`)
  t.ok(slack.drops < 0.001, `${slack.drops} of the packets dropped`)
})

t.test('sender, receiver and switch that stall at once, 50 ms', async t => {
  const [plain, slack] = [0, WINDOW_SLACK_NS].map(ns => alone(50, ALL_LATE, ns)) as [Figures, Figures]
  t.comment(JSON.stringify({ plain, slack }))
  t.ok(slack.goodput > plain.goodput + 0.03, `${slack.goodput} against ${plain.goodput} of the rate`)
  t.ok(slack.drops < 0.001, `${slack.drops} of the packets dropped`)
})

type Figures = ReturnType<typeof alone>
