/** Separate scheduling of large and small flows: what is large, which queue it takes, and that its order stays. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { FlowMeter } from '../../switch-emu/core/scheduling/flow-meter.js'
import type { LargeFlowsOptions } from '../../switch-emu/core/scheduling/large-flows.js'
import type { SwitchOptions } from '../../switch-emu/core/switch.js'
import { problemsOf } from '../scenario/problems-at.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST, seeded, starSwitch } from './helpers.js'

const BYTES = 1000
/** The time of one packet on a link of 1 Gbit/s. */
const PACKET_NS = 8000
/** DSCP of priority 3 and 4 in maps of DSCP / 8. */
const TOS = (priority: number) => (priority * 8) << 2

const DEFAULTS = { intervalNs: 100_000, holdNs: 1_000_000, ageNs: 1e8, from: [3], flows: 64 }

t.test('a flow is large by size or by rate, and small again when it was slow for the hold time', async t => {
  const meter = new FlowMeter({ sizeBytes: 10_000, rate: 1e9, intervalNs: 100_000, holdNs: 1_000_000 }, 2)
  // By size: ten packets, one each 80 us, are 100 Mbit/s.
  meter.begin(0, 0)
  const largeAt = Array.from({ length: 12 }, (_, i) => {
    meter.count(0, i * 80_000, BYTES)
    return meter.isLarge[0]
  })
  t.same(largeAt, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1])
  // At 100 Mbit/s it is slow (below half of 1 Gbit/s), and the hold time is over.
  for (let at = 960_000; at <= 1_200_000; at += 80_000) meter.count(0, at, BYTES)
  t.equal(meter.isLarge[0], 0)
  t.ok(meter.bytes[0]! < 10_000, 'the size counts anew')
  // By rate: 12.5 KB in 100 us are 1 Gbit/s. The interval is over with the first packet behind it.
  const fast = new FlowMeter({ rate: 1e9, intervalNs: 100_000, holdNs: 1_000_000 }, 1)
  fast.begin(0, 0)
  for (let i = 0; i < 13; i++) fast.count(0, i * PACKET_NS, BYTES)
  t.equal(fast.isLarge[0], 0)
  fast.count(0, 13 * PACKET_NS, BYTES)
  t.equal(fast.isLarge[0], 1)
  t.equal(fast.rateBps[0], (13 * BYTES * 8e9) / (13 * PACKET_NS))
  // Between the two thresholds it stays what it is: 600 Mbit/s is less than `rate`, and not slow.
  let at = 13 * PACKET_NS
  for (const end = at + 1e7; at < end; at += 13_333) fast.count(0, at, BYTES)
  t.equal(fast.isLarge[0], 1)
  fast.count(0, at + 900_000, BYTES)
  t.equal(fast.isLarge[0], 1, 'a pause shorter than the hold time')
  fast.count(0, at + 900_000 + 2_000_000, BYTES)
  t.equal(fast.isLarge[0], 0)
})

/** Hosts 0 and 1 send to host 2. */
function sending(options: Partial<LargeFlowsOptions>, more: Partial<SwitchOptions> = {}, frames = 4096) {
  const { features, ...others } = more
  const ports = Array.from({ length: 3 }, () => ({ rateBps: 1e9 }))
  const dscp = Object.fromEntries(Array.from({ length: 64 }, (_, d) => [d, d >> 3]))
  const largeFlows = { ...DEFAULTS, priority: 2, ...options }
  const all = { ports, classifier: { dscp }, ...others, features: { largeFlows, ...features } }
  const { node, pool } = starSwitch(all, frames)
  const sent: { qpn: number; psn: number; queue: number }[] = []
  const see = (frame: Frame) => {
    const { view, bth: at } = frame
    const queue = node.ports[2]!.sentPriority
    // A PFC frame has no BTH.
    if (at >= 0) sent.push({ qpn: bth.destQpn(view, at), psn: bth.psn(view, at), queue })
    pool.give(frame)
  }
  const data = (now: number, spec: Partial<FrameSpec>) =>
    node.onFrame(
      now,
      0,
      buildFrame(pool, { from: HOST(0), to: HOST(2), wireBytes: BYTES, tos: TOS(3) | 2, ...spec }),
    )
  const drive = (until: number) => {
    for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) see(frame)
    }
  }
  return { node, pool, sent, data, drive }
}

/** What may happen next: a packet of the flow, one of another flow, one packet leaves, or time passes so that a large flow is small again. */
const STEPS = ['flow', 'other', 'leave', 'wait'] as const

for (const [name, priority, weights] of [
  ['a lower queue', 2, undefined],
  ['a higher queue', 4, undefined],
  ['a queue that shares the link', 2, [0, 0, 50, 50, 0, 0, 0, 0]],
] as const) {
  t.test(`order stays under all interleavings: large flows take ${name}`, async t => {
    const length = 6
    const seen = { moved: 0, back: 0, packets: 0 }
    for (let code = 0; code < STEPS.length ** length; code++) {
      const steps = Array.from(
        { length },
        (_, i) => STEPS[Math.floor(code / STEPS.length ** i) % STEPS.length]!,
      )
      const wrong = outOfOrder(steps, priority, weights, seen)
      if (wrong !== null) {
        t.fail(`${steps.join(' ')}: ${wrong}`)
        return
      }
    }
    t.ok(seen.moved > 1000 && seen.back > 10, JSON.stringify(seen))
  })
}

/** Plays the steps, then lets all packets leave. Returns the order in which the flow's left, if it is wrong. */
function outOfOrder(
  steps: readonly (typeof STEPS)[number][],
  priority: number,
  weights: readonly number[] | undefined,
  seen: { moved: number; back: number; packets: number },
): string | null {
  const ports = Array.from({ length: 3 }, () => ({ rateBps: 1e9, ...(weights && { weights }) }))
  // Two packets are large. A gap of the hold time makes it small.
  const options = {
    sizeBytes: 2 * BYTES,
    intervalNs: 1000,
    holdNs: 100_000,
    smallRate: 900e6,
    priority,
    flows: 4,
  }
  const { node, sent, data, drive } = sending(options, { ports }, 16)
  let now = 0
  let psn = 0
  for (const step of steps) {
    if (step === 'flow') data(now, { destQpn: 5, psn: psn++ })
    else if (step === 'other') data(now, { destQpn: 6, psn: 0, from: HOST(1) })
    else if (step === 'leave') {
      now = Math.max(now, Math.min(node.nextTimeout(), now + PACKET_NS))
      drive(now)
    }
    // Frames are not polled: they wait, as behind a pause.
    else now += 150_000
  }
  drive(1e9)
  const psns = sent.filter(({ qpn }) => qpn === 5).map(({ psn: at }) => at)
  const queues = sent.filter(({ qpn }) => qpn === 5).map(({ queue }) => queue)
  seen.packets += psns.length
  const first = queues.indexOf(priority)
  if (first > 0) seen.moved++
  if (first >= 0 && queues.indexOf(3, first) > first) seen.back++
  const right = psns.length === psn && psns.every((at, i) => at === i)
  return right ? null : psns.join(' ')
}

t.test('a hundred flows that grow and shrink under random loads keep their order', async t => {
  const random = seeded(t, 5)
  for (const weights of [undefined, [0, 0, 10, 90, 0, 0, 0, 0]]) {
    const ports = Array.from({ length: 3 }, () => ({ rateBps: 1e9, ...(weights && { weights }) }))
    const options = { sizeBytes: 5 * BYTES, intervalNs: 20_000, holdNs: 100_000, smallRate: 40e6, flows: 256 }
    const { node, sent, data, drive } = sending(options, { ports })
    const next = new Array<number>(100).fill(0)
    let now = 0
    for (let i = 0; i < 30_000; i++) {
      now += random.below(i % 3000 < 1500 ? 2 * PACKET_NS - 2000 : 3 * PACKET_NS)
      drive(now)
      const flow = random.below(random.below(4) === 0 ? 100 : 5)
      data(now, { destQpn: 10 + flow, psn: next[flow]!++ })
    }
    drive(1e12)
    const last = new Array<number>(100).fill(-1)
    const wrong = sent.filter(({ qpn, psn }) => psn !== ++last[qpn - 10]!)
    t.same(wrong, [])
    t.equal(sent.length, 30_000)
    const { grown, shrunk, missed } = node.report(now, 2).largeFlows!
    t.ok(grown > 50 && shrunk > 50, `${grown} grown, ${shrunk} shrunk`)
    t.equal(missed, 0)
  }
})

t.test('the report lists the fastest large flows, as many as fit', async t => {
  const { node, data, drive } = sending({ sizeBytes: 3 * BYTES, flows: 64 })
  for (let n = 0; n < 4 * 20; n++) {
    drive(n * PACKET_NS)
    data(n * PACKET_NS, { destQpn: 100 + (n % 20), psn: n })
  }
  const report = node.report(80 * PACKET_NS, 2).largeFlows!
  t.match(report, { grown: 20, shrunk: 0, missed: 0, now: 20 })
  t.equal(report.list.length, 16)
  t.match(report.list[0], { from: '10.0.0.0', to: '10.0.0.2', priority: 3, bytes: 4 * BYTES })
  t.equal(node.report(80 * PACKET_NS, 1).largeFlows!.now, 0)
})

t.test('acknowledgements make no flow large, and go with it', async t => {
  const { node, data, drive } = sending({ sizeBytes: 3 * BYTES })
  for (let n = 0; n < 100; n++) {
    drive(n * PACKET_NS)
    data(n * PACKET_NS, { opcode: Opcode.RC_ACKNOWLEDGE, wireBytes: 62, psn: n })
  }
  t.equal(node.report(1e6, 2).largeFlows!.grown, 0)
})

t.test('a second profile of a queue marks large flows sooner', async t => {
  const marked = { large: 0, small: 0 }
  const { node, pool } = starSwitch({
    ports: Array.from({ length: 3 }, () => ({ rateBps: 1e9 })),
    classifier: { dscp: { 24: 3 } },
    features: {
      largeFlows: { ...DEFAULTS, sizeBytes: 2 * BYTES },
      ecn: {
        kminBytes: 50_000,
        kmaxBytes: 50_000,
        pmax: 1,
        large: { kminBytes: 5000, kmaxBytes: 5000, pmax: 1 },
      },
    },
  })
  for (let n = 0; n < 20; n++) {
    for (const destQpn of [5, 100 + n]) {
      const spec = { from: HOST(0), to: HOST(2), wireBytes: BYTES, tos: TOS(3) | 2, destQpn }
      node.onFrame(0, 0, buildFrame(pool, spec))
    }
  }
  for (let frame = node.pollTransmit(1e9); frame !== null; frame = node.pollTransmit(1e9)) {
    if (ipv4.ecn(frame.view, frame.l3) !== ipv4.ECN_CE) continue
    marked[bth.destQpn(frame.view, frame.bth) === 5 ? 'large' : 'small']++
  }
  // The queue is above 5 KB from the seventh packet on: the fourth of the large flow's.
  t.same(marked, { large: 17, small: 0 })
})

t.test(
  'a pause of their priority holds large flows in their own queue as well, and accounts them to it',
  async t => {
    const pfc = {
      priorities: [3, 4],
      xoffBytes: 3500,
      xonBytes: 2000,
      headroomBytes: new Array(3).fill(50_000),
      quanta: 0xffff,
    }
    const { node, sent, data, drive } = sending(
      { sizeBytes: BYTES, priority: 4 },
      { features: { pfc: pfc as never } },
    )
    node.ports[2]!.pause.onPause(0, 3, 100)
    const pauseNs = 100 * 512
    for (let n = 0; n < 5; n++) data(0, { destQpn: 5, psn: n })
    t.equal(node.ports[2]!.queues[4]!.count, 5)
    drive(pauseNs - 1)
    t.equal(sent.length, 0)
    t.equal(node.nextTimeout(), pauseNs)
    t.match(node.report(0, 0), { pfc: { maxIngressBytes: 5 * BYTES } })
    t.equal(node.report(0, 0).pausesSent, 1, 'the sender is paused')
    // A pause of the queue's own priority is one more.
    node.ports[2]!.pause.onPause(10, 4, 200)
    node.wake(10, 2)
    drive(pauseNs)
    t.equal(sent.length, 0)
    drive(1e6)
    t.same(
      sent.map(({ psn, queue }) => [psn, queue]),
      [0, 1, 2, 3, 4].map(psn => [psn, 4]),
    )
  },
)

t.test('a switch that restarts knows no flow, and holds no queue; its counts remain', async t => {
  const { node, sent, data, drive } = sending({ sizeBytes: 2 * BYTES })
  for (let psn = 0; psn < 4; psn++) data(0, { destQpn: 5, psn })
  t.match(node.report(0, 2).largeFlows, { grown: 1, now: 1 })
  t.same([node.ports[2]!.queues[3]!.count, node.ports[2]!.queues[2]!.count], [1, 3])
  node.restart(1000)
  t.match(node.report(1000, 2).largeFlows, { grown: 1, now: 0, list: [] })
  // It begins as a small flow, and its first packet is on the line at once.
  data(2000, { destQpn: 5, psn: 4 })
  data(2000, { destQpn: 5, psn: 5 })
  t.match(node.report(2000, 2).largeFlows, { grown: 2, now: 1 })
  drive(1e6)
  t.same(
    sent.map(({ psn, queue }) => [psn, queue]),
    [
      [4, 3],
      [5, 2],
    ],
  )
})

/** As `STEPS`, with what empties queues at once, and a pause of the flow's priority. */
const BREAKS = ['flow', 'other', 'leave', 'pause', 'down', 'restart'] as const

for (const [name, priority, isLossless] of [
  ['a lower queue', 2, false],
  ['a higher queue', 4, false],
  ['a lossless queue', 4, true],
] as const) {
  t.test(`no queue is held for ever after link failures and restarts: ${name}`, async t => {
    const length = 5
    const seen = { emptied: 0, both: 0 }
    for (let code = 0; code < BREAKS.length ** length; code++) {
      const steps = Array.from(
        { length },
        (_, i) => BREAKS[Math.floor(code / BREAKS.length ** i) % BREAKS.length]!,
      )
      const wrong = whatStays(steps, priority, isLossless, seen)
      if (wrong !== null) {
        t.fail(`${steps.join(' ')}: ${wrong}`)
        return
      }
    }
    t.ok(seen.emptied > 1000 && seen.both > 100, JSON.stringify(seen))
  })
}

/** Plays the steps, then lets all packets leave. Returns what waits still, or left out of order, or null. */
function whatStays(
  steps: readonly (typeof BREAKS)[number][],
  priority: number,
  isLossless: boolean,
  seen: { emptied: number; both: number },
): string | null {
  const pfc = {
    priorities: [3, priority],
    xoffBytes: 1e6,
    xonBytes: 1e5,
    headroomBytes: [0, 0, 0],
    quanta: 0xffff,
  }
  const { node, pool, sent, data, drive } = sending(
    { sizeBytes: 2 * BYTES, intervalNs: 1000, holdNs: 100_000, smallRate: 900e6, priority, flows: 4 },
    isLossless ? { features: { pfc: pfc as never } } : {},
    32,
  )
  const port = node.ports[2]!
  let now = 0
  let psn = 0
  for (const step of steps) {
    if (step === 'flow') for (let i = 0; i < 2; i++) data(now, { destQpn: 5, psn: psn++ })
    else if (step === 'other') data(now, { destQpn: 6, from: HOST(1) })
    else if (step === 'leave') {
      now += PACKET_NS
      drive(now)
    } else if (step === 'pause') {
      port.pause.onPause(now, 3, 100)
      node.wake(now, 2)
    } else {
      if (port.queues[3]!.count > 0 && port.queues[priority]!.count > 0) seen.both++
      if (node.queuedFrames > 0) seen.emptied++
      if (step === 'restart') node.restart(now)
      else {
        node.setLink(now, 2, false)
        node.setLink(now, 2, true)
      }
      if (node.queuedFrames > 0) return 'frames wait although the queues were emptied'
    }
  }
  // Two more: they must leave whatever was before.
  data(now, { destQpn: 5, psn: psn++ })
  data(now, { destQpn: 5, psn: psn++ })
  drive(1e9)
  if (node.queuedFrames > 0 || pool.inUse > 0) return `${node.queuedFrames} wait, ${pool.inUse} are taken`
  const psns = sent.filter(({ qpn }) => qpn === 5).map(({ psn: at }) => at)
  const inOrder = psns.every((at, i) => i === 0 || at > psns[i - 1]!)
  return inOrder && psns.at(-1) === psn - 1 ? null : psns.join(' ')
}

t.test('what contradicts itself, or does nothing, is refused in files', async t => {
  const base = 'hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\n'
  for (const [options, wrong] of [
    ['largeFlows: {priority: 2}', /size is missing, or rate/],
    ['largeFlows: {size: 1MB, priority: 3}', /flows of priority 3 are there already/],
    ['largeFlows: {rate: 1Gbps, smallRate: 1Gbps}', /smallRate is below rate/],
    ['largeFlows: {size: 1MB, hold: 10us}', /hold is at least interval/],
    ['largeFlows: {size: 1MB, age: 1ms}', /age is at least hold/],
    [
      'pfc: {xoff: 500KB}, largeFlows: {size: 1MB, priority: 2}',
      /make both lossless \(pfc.priorities: \[2, 3\]\)/,
    ],
    [
      'pfc: {xoff: 500KB}, largeFlows: {size: 1MB, priority: 3, from: [0]}',
      /priority 3 is lossless and 0 is not/,
    ],
    ['ecn: {kmin: 1KB, kmax: 2KB, large: {kmin: 1KB, kmax: 2KB}}', /large has no effect without largeFlows/],
    [
      'largeFlows: {size: 1MB}, ecn: {kmin: 1KB, kmax: 2KB, large: {kmin: 3KB, kmax: 2KB}}',
      /kmin \(3KB\) must not be above/,
    ],
  ] as const) {
    const problems = problemsOf(`${base}switches: {s1: {${options}}}\n`)
    t.equal(problems.length, 1, problems.join(' | '))
    t.match(problems[0], wrong, options)
  }
  for (const options of [
    'largeFlows: {size: 1MB}',
    'pfc: {xoff: 500KB, priorities: [3, 4]}, largeFlows: {rate: 1Gbps, priority: 4}',
    'pfc: {xoff: 500KB}, largeFlows: {size: 1MB, priority: 2, from: [0, 1]}',
  ])
    t.same(problemsOf(`${base}switches: {s1: {${options}}}\n`), [], options)
})
