/**
 * A frame that finds its line free and nothing waiting leaves its switch at once (`Switch.pass`). Of two switches that get the same frames,
 * one passes them so and the other queues each (`onFrame`): both send the same bytes at the same times, and report the same.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { Random } from '../../lib/sim/random.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import type { FeatureOptions } from '../../switch-emu/core/catalogue.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { fixedSeed } from '../support/seeds.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, starSwitch } from './helpers.js'

const PORTS = 4
const ECN = { kminBytes: 1000, kmaxBytes: 8000, pmax: 0.5 }
const PFC = { priorities: [3], xoffBytes: 4000, xonBytes: 2000, headroomBytes: [9000, 9000, 9000, 9000] }

/** By what the switch does: its features, and weights of queues. */
const CASES: Record<string, { features?: FeatureOptions; weights?: number[] }> = {
  'nothing but telemetry': {},
  'no telemetry': { features: { telemetry: false } },
  'marking as packets enter': { features: { ecn: ECN } },
  'marking as packets leave': { features: { ecn: { ...ECN, at: 'dequeue' } } },
  'queues that take turns': { weights: [1, 0, 0, 2, 3, 0, 0, 0] },
  'PFC, and a threshold below a packet': { features: { pfc: { ...PFC, xoffBytes: 700, xonBytes: 0 } } },
  'PFC and marking': { features: { pfc: PFC, ecn: ECN }, weights: [1, 0, 0, 2, 3, 0, 0, 0] },
  'direct responses': { features: { direct: { thresholdBytes: 3000 } } },
}

for (const [what, { features, weights }] of Object.entries(CASES)) {
  t.test(what, async t => {
    const seed = fixedSeed(t, 88)
    const run = (passes: boolean) => sentOf(seed, features, weights, passes)
    const queued = run(false)
    const passing = run(true)
    t.same(passing.sent, queued.sent, `SEED=${seed}`)
    t.same(passing.reports, queued.reports)
    t.equal(queued.passed, 0)
    if (features?.direct === undefined) t.ok(passing.passed > 500, `${passing.passed} frames passed`)
    else t.equal(passing.passed, 0, 'a feature looks at packets in their queues')
  })
}

/** What a switch sends of random frames, half of them bursts, and pauses of its peers. */
function sentOf(seed: number, features: FeatureOptions = {}, weights: number[] | undefined, passes: boolean) {
  const random = new Random(seed)
  const drawn = random.fork('switch')
  const { node, pool } = starSwitch({
    ports: Array.from({ length: PORTS }, (_, p) => ({ rateBps: p % 2 === 0 ? 1e9 : 10e9, weights })),
    classifier: { dscp: { 24: 3, 32: 4 } },
    bufferBytes: 100_000,
    random: () => drawn.next(),
    features,
  })
  const sent: string[] = []
  let now = 0
  let passed = 0
  const send = (frame: Frame, at: number) => {
    const { port, departNs, wireLength, length, bytes } = frame
    sent.push(`${at}: ${port} ${departNs} ${wireLength} ${bytes.toString('hex', 0, length)}`)
    pool.give(frame)
  }
  for (let i = 0; i < 4000; i++) {
    now += random.below(4) === 0 ? random.below(100_000) : random.below(2000)
    drainTimers(node, now, send)
    const frame = random.below(30) === 0 ? pause(pool.take()!, random) : data(pool, random, i)
    const port = random.below(PORTS)
    if (passes) {
      const first = node.pass(now, port, frame)
      if (first !== null) {
        passed++
        send(first, now)
      }
    } else node.onFrame(now, port, frame)
    drainTimers(node, now, send)
  }
  drainTimers(node, now + 1e6, send)
  t.equal(pool.inUse, node.queuedFrames)
  return { sent, passed, reports: node.ports.map(({ index }) => node.report(now + 1e6, index)) }
}

function drainTimers(node: Switch, until: number, each: (frame: Frame, now: number) => void): void {
  for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
    node.onTimeout(now)
    drain(node, now, each)
  }
}

function data(pool: Parameters<typeof buildFrame>[0], random: Random, psn: number): Frame {
  return buildFrame(pool, {
    from: HOST(random.below(PORTS)),
    to: HOST(random.below(PORTS)),
    wireBytes: 150 + random.below(1300),
    tos: ([0, 24, 32][random.below(3)]! << 2) | random.below(3),
    psn,
    ...(random.below(2) === 0 && { int: { format: intShim.FORMAT_COMPACT, slots: 5 } }),
  })
}

/** A PFC frame of a peer. */
function pause(frame: Frame, random: Random): Frame {
  pfc.write(frame.view, 0, 0x02_00_00_00_00_99, random.below(256), random.below(2) * random.below(100))
  frame.length = pfc.BYTES
  frame.wireLength = pfc.BYTES
  return frame
}
