/** AI ECN: what a queue's features are, which model is near, and where the tuner goes. */
import t from 'tap'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import type { AiEcnOptions, AiEcnReport } from '../../switch-emu/core/ai-ecn/ai-ecn.js'
import { TRAFFIC_MODELS } from '../../switch-emu/core/ai-ecn/model-table.js'
import type { QueueFeatures } from '../../switch-emu/core/ai-ecn/queue-features.js'
import { SenderKind } from '../../switch-emu/core/ai-ecn/senders.js'
import {
  distance,
  type LineThresholds,
  nearest,
  pointOf,
  TrafficMatcher,
  type TrafficModel,
} from '../../switch-emu/core/ai-ecn/traffic-models.js'
import { Tuner } from '../../switch-emu/core/ai-ecn/tuner.js'
import { utilityOf } from '../../switch-emu/core/ai-ecn/utility.js'
import type { FeatureOptions } from '../../switch-emu/core/catalogue.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { problemsOf } from '../scenario/problems-at.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

const GIGABIT = { rateBps: 1e9 } // 8 ns a byte
const PERIOD_NS = 100_000
const BY_CLASS_SELECTOR = { dscp: Object.fromEntries(Array.from({ length: 8 }, (_, p) => [8 * p, p])) }

const OPTIONS: AiEcnOptions = {
  mode: 'observe',
  priorities: [3],
  periodNs: PERIOD_NS,
  hold: 2,
  largeBytes: 2500,
  flows: 64,
  weight: 0.7,
  leastNs: 200,
  mostNs: 1e6,
}

/** The first four periods are a quarter as long as others: PERIOD_NS. */
const LONG = { periodNs: 4 * PERIOD_NS }

/** Hosts 0 to 2 send to host 3. */
function watched(options: Partial<AiEcnOptions> = {}, features: FeatureOptions = {}) {
  return starSwitch({
    ports: [GIGABIT, GIGABIT, GIGABIT, GIGABIT],
    classifier: BY_CLASS_SELECTOR,
    features: {
      ecn: { kminBytes: 3000, kmaxBytes: 3000, pmax: 1 },
      aiEcn: { ...OPTIONS, ...options },
      ...features,
    },
  })
}

function send(node: Switch, pool: FramePool, now: number, from: number, destQpn = 1, opcode?: number): void {
  const wireBytes = opcode === undefined ? 1000 : undefined
  node.onFrame(
    now,
    from,
    buildFrame(pool, { from: HOST(from), to: HOST(3), wireBytes, destQpn, opcode, tos: (3 << 5) | 2 }),
  )
}

function finish(node: Switch, pool: FramePool, until: number): void {
  for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
    node.onTimeout(now)
    drain(node, now, frame => pool.give(frame))
  }
}

function reportOf(node: Switch, now: number): AiEcnReport {
  return node.report(now, 3).aiEcn!
}

t.test('the features of one period are those that a hand works out', async t => {
  const { node, pool } = watched(LONG)
  // At 0: three packets of one flow and one of another, from two ports. One is on the line at once, and three wait.
  send(node, pool, 0, 0, 1)
  drain(node, 0, frame => pool.give(frame))
  send(node, pool, 0, 0, 1)
  send(node, pool, 0, 0, 1)
  send(node, pool, 0, 1, 7)
  finish(node, pool, PERIOD_NS)
  const [queue] = reportOf(node, PERIOD_NS).queues
  t.equal(queue!.periods, 1)
  // 3,000 bytes wait for 8 us, 2,000 and 1,000 too: 48e6 byte ns over 100 us are 480 bytes. A slow line counts as
  // one of 4.8 Gbit/s, which sends them in 800 ns.
  t.same(queue!.traffic, {
    delayNs: 800,
    throughput: 0.32,
    // The third packet of the first flow is beyond 2,500 bytes.
    largeShare: 0.25,
    flows: 2,
    ingressPorts: 2,
    largestPort: 0.75,
    pausesSent: 0,
    pausesReceived: 0,
    marks: 0,
    cnps: 0,
  })
})

t.test('marks, pauses of both directions and acknowledgements', async t => {
  const { node, pool } = watched(
    {},
    {
      pfc: { priorities: [3], xoffBytes: 5000, xonBytes: 2000, headroomBytes: [9000, 9000, 9000, 9000] },
    },
  )
  // Seven packets of one port; above 5,000 bytes it pauses its peer. Marked are those that find more than 3,000 bytes: numbers 6 and 7, and
  // the acknowledgement behind them.
  for (let i = 0; i < 7; i++) {
    send(node, pool, 0, 0, 1)
    if (i === 0) drain(node, 0, frame => pool.give(frame))
  }
  send(node, pool, 0, 2, 9, Opcode.RC_ACKNOWLEDGE) // counts as no flow
  const pause = pool.take()!
  pfc.write(pause.view, 0, 0x02_00_00_00_00_99, 1 << 3, 10)
  pause.length = pfc.BYTES
  pause.wireLength = pfc.BYTES
  node.onFrame(20_000, 3, pause)
  finish(node, pool, PERIOD_NS)
  const { traffic } = reportOf(node, PERIOD_NS).queues[0]!
  t.match(traffic, { flows: 1, ingressPorts: 1, marks: 3, pausesSent: 1, pausesReceived: 1 })
  t.equal(traffic.largeShare, 5 / 7)
})

t.test('a queue without traffic costs no timer, and its periods do not count', async t => {
  const { node, pool } = watched()
  t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY)
  send(node, pool, 1000, 0)
  finish(node, pool, 10 * PERIOD_NS)
  t.equal(reportOf(node, 10 * PERIOD_NS).queues[0]!.periods, 1)
  t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY)
})

const QUIET: QueueFeatures = {
  delayNs: 0,
  throughput: 0,
  largeShare: 0,
  flows: 0,
  ingressPorts: 0,
  largestPort: 0,
  pausesSent: 0,
  pausesReceived: 0,
  marks: 0,
  cnps: 0,
}

t.test('the coordinates of traffic', async t => {
  t.same(pointOf(QUIET), [0, 0, 0, 0, 0])
  const most = { ...QUIET, throughput: 1, delayNs: 256_000, largeShare: 1, flows: 256, ingressPorts: 64 }
  t.same(pointOf(most), [1, 1, 1, 1, 1])
  t.same(pointOf({ ...most, delayNs: 1e9, flows: 5000, ingressPorts: 200 }), [1, 1, 1, 1, 1])
  // 15 us: log2(16) / log2(257).
  t.ok(Math.abs(pointOf({ ...QUIET, delayNs: 15_000 })[1]! - 4 / Math.log2(257)) < 1e-12)
})

const ONES = [1, 1, 1, 1, 1]

function model(name: string, throughput: number, radius: number): TrafficModel {
  return {
    name,
    senders: 'acks',
    centroid: [throughput, 0, 0, 0, 0],
    spread: ONES,
    radius,
    kminNs: 1000,
    kmaxNs: 2000,
    pmax: 0.5,
  }
}

t.test('the nearest model within its radius, and no other, after enough periods', async t => {
  const models = [model('low', 0.2, 0.15), model('high', 0.8, 0.31)]
  t.equal(nearest(models, [0.3, 0, 0, 0, 0])?.name, 'low')
  t.equal(nearest(models, [0.36, 0, 0, 0, 0]), null)
  t.equal(nearest(models, [0.51, 0, 0, 0, 0])?.name, 'high')
  t.equal(nearest(models, [0.8, 0.32, 0, 0, 0]), null)
  t.ok(Math.abs(distance({ centroid: [0, 0, 3], spread: [2, 1, 0.5] }, [8, 0, 1.5]) - 5) < 1e-12)

  const matcher = new TrafficMatcher(models, 3)
  const at = (throughput: number) => {
    const changed = matcher.onPeriod({ ...QUIET, throughput }, 'acks')
    return `${matcher.model?.name ?? '-'}${changed ? '!' : ''}`
  }
  t.same([at(0.2), at(0.2), at(0.2), at(0.2)], ['-', '-', 'low!', 'low'])
  // The mean goes half of the way in each period: 0.5 (high), 0.65, 0.725: the third one in a row.
  t.same([at(0.8), at(0.8), at(0.8)], ['low', 'low', 'high!'])
  // One period of another kind does not matter: 0.4625 is none's.
  t.same([at(0.2), at(0.8), at(0.8)], ['high', 'high', 'high'])
})

t.test('the table that ships: kinds apart, thresholds in order, each found where it lies', async t => {
  for (const senders of ['acks', 'cnps'] as const) {
    const models = TRAFFIC_MODELS.filter(one => one.senders === senders)
    t.same(
      models.map(({ name }) => name),
      ['mice', 'elephants', 'incast'],
    )
    for (const one of models) {
      t.equal(nearest(models, one.centroid), one)
      t.ok(one.kminNs <= one.kmaxNs && one.pmax > 0 && one.pmax <= 1)
    }
    const [mice, elephants, incast] = models
    t.ok(mice!.kmaxNs < elephants!.kminNs, 'small flows want a short queue, large ones a long one')
    t.ok(incast!.centroid[4]! > elephants!.centroid[4]!, 'an incast comes by more ports')
  }
})

t.test('the utility', async t => {
  const near = (features: Partial<QueueFeatures>, expected: number) =>
    t.ok(Math.abs(utilityOf({ ...QUIET, ...features }, 0.7) - expected) < 1e-12, `${expected}`)
  near({ throughput: 1 }, 1)
  near({ throughput: 0.5 }, 0.65)
  near({ throughput: 1, delayNs: 256_000 }, 0.7)
  near({ throughput: 1, delayNs: 1e7 }, 0.7)
  near({ throughput: 1, delayNs: 15_000 }, 0.7 + 0.3 * (1 - 4 / Math.log2(257)))
  near({ throughput: 1, pausesSent: 1 }, 0.7)
})

const BOUNDS = { leastNs: 200, kminMostNs: 100_000, mostNs: 100_000 }

/** A queue whose utility is concave in the logarithms of Kmin, Kmax and Pmax, with its maximum at `best`. */
function concave(best: LineThresholds, noise: () => number) {
  const off = (a: number, b: number) => Math.log(a / b) ** 2
  return ({ kminNs, kmaxNs, pmax }: LineThresholds) =>
    0.9 -
    0.05 * (off(kminNs, best.kminNs) + off(kmaxNs, best.kmaxNs) + off(pmax, best.pmax)) +
    0.001 * (noise() - 0.5)
}

t.test('the tuner finds the maximum of a concave utility from anywhere, and stays', async t => {
  const random = seeded(t, 11)
  for (let round = 0; round < 50; round++) {
    const kminNs = 500 * 20 ** random.next()
    const best = { kminNs, kmaxNs: kminNs * (1 + 5 * random.next()), pmax: 0.05 + 0.9 * random.next() }
    const utility = concave(best, () => random.next())
    const start = 300 * 100 ** random.next()
    const tuner = new Tuner({ kminNs: start, kmaxNs: start * (1 + 2 * random.next()), pmax: random.next() })
    for (let period = 0; period < 1500; period++) tuner.onPeriod(utility(tuner.thresholds), BOUNDS)
    // Where it rests no step is better by more than it asks for: half a per cent of the utility.
    let worst = 1
    let trials = 0
    for (let period = 0; period < 400; period++) {
      tuner.onPeriod(utility(tuner.thresholds), BOUNDS)
      if (tuner.state === 'trial') trials++
      else worst = Math.min(worst, utility(tuner.thresholds))
    }
    t.ok(worst > 0.9 - 0.03, `round ${round}: utility ${worst} of 0.9`)
    t.ok(trials < 250, `it looks around for ${trials} of 400 periods`)
  }
})

t.test('every threshold that it sets is within bounds, whatever the utility', async t => {
  const random = seeded(t, 12)
  const tuner = new Tuner({ kminNs: 5000, kmaxNs: 20_000, pmax: 0.2 })
  const lowest = { kmin: 1e9, kmax: 1e9 }
  for (let period = 0; period < 20_000; period++) {
    const mostNs = period % 5000 < 2500 ? 100_000 : 8000
    tuner.onPeriod(random.next(), { leastNs: 200, kminMostNs: mostNs, mostNs })
    const { kminNs, kmaxNs, pmax } = tuner.thresholds
    if (!(kminNs >= 200 && kminNs <= kmaxNs && kmaxNs <= mostNs && pmax >= 0.01 && pmax <= 1)) {
      t.fail(`${kminNs} ${kmaxNs} ${pmax} in period ${period}`)
      return
    }
    lowest.kmin = Math.min(lowest.kmin, kminNs)
    lowest.kmax = Math.min(lowest.kmax, kmaxNs)
  }
  t.ok(lowest.kmin < 2000, 'it has moved')
})

t.test('a step is judged four times as long where senders take CNPs', async t => {
  const [acks, cnps] = (['acks', 'cnps'] as const).map(senders => {
    const tuner = new Tuner({ kminNs: 4000, kmaxNs: 16_000, pmax: 0.2 }, senders)
    return [0, 0].map(() => {
      let periods = 1
      while (tuner.onPeriod(0.8, BOUNDS) === null) periods++
      return periods
    })
  })
  // Settling and the base, then settling and the step.
  t.same(acks, [6, 6])
  t.same(cnps, [24, 24])
})

t.test('it goes back from a step that makes things worse, and rests when none is better', async t => {
  const from = { kminNs: 4000, kmaxNs: 16_000, pmax: 0.2 }
  const tuner = new Tuner(from)
  const steps: string[] = []
  let tries = 0
  for (let period = 0; period < 200 && tuner.state !== 'rest'; period++) {
    const isHome = tuner.thresholds === from
    const step = tuner.onPeriod(isHome ? 0.8 : 0.7, BOUNDS)
    if (step !== null) steps.push(step)
    if (step === 'back') t.equal(tuner.thresholds, from)
    if (step === 'try') tries++
  }
  t.equal(tries, 6, 'each direction of each of the three once')
  t.same(steps, Array.from({ length: 6 }, () => ['try', 'back']).flat())
  t.equal(tuner.state, 'rest')
  // As long as nothing changes it stays there, and looks around again when the utility is another one.
  const stays = Array.from({ length: 40 }, () => tuner.onPeriod(0.8, BOUNDS))
  t.ok(stays.every(step => step === null))
  const looks = Array.from({ length: 20 }, () => tuner.onPeriod(0.6, BOUNDS))
  t.ok(looks.includes('try'))
})

const INCAST: TrafficModel = {
  name: 'any',
  senders: 'acks',
  centroid: [0.5, 0.5, 0.5, 0.5, 0.5],
  spread: ONES,
  radius: 2,
  kminNs: 8000,
  kmaxNs: 64_000,
  pmax: 0.5,
}

/** Sends 50 % of the line for some periods, by so many ports in turn. */
function halfLoad(node: Switch, pool: FramePool, periods: number, ports = 1): void {
  for (let n = 0; n * 16_000 < periods * PERIOD_NS; n++) {
    finish(node, pool, n * 16_000)
    send(node, pool, n * 16_000, n % ports)
  }
  finish(node, pool, periods * PERIOD_NS)
}

t.test('ECN acts before PFC: Kmax stays below 0.8 of xoff, whatever a model says', async t => {
  const headroomBytes = [9000, 9000, 9000, 9000]
  for (const [xoffBytes, kmaxBytes, kminBytes] of [
    [100_000, 38_400, 4800],
    [8000, 6400, 4800],
    [5000, 4000, 4000],
  ] as const) {
    const pfcOptions = { priorities: [3], xoffBytes, xonBytes: 1000, headroomBytes }
    const { node, pool } = watched({ mode: 'models', models: [INCAST] }, { pfc: pfcOptions })
    halfLoad(node, pool, 5)
    const { queues, decisions, changes } = reportOf(node, 5 * PERIOD_NS)
    // 64 and 8 us of 4.8 Gbit/s are 38,400 and 4,800 bytes.
    t.match(queues[0], { kminBytes, kmaxBytes, model: 'any' }, `xoff ${xoffBytes}`)
    t.ok(changes >= 1 && decisions.at(-1)!.after.kmaxBytes === kmaxBytes)
    t.ok(node.report(5 * PERIOD_NS, 3).pausesSent === 0)
  }
})

t.test('where two ports bring the queue, Kmax may be twice as high, and Kmin may not', async t => {
  const pfc = { priorities: [3], xoffBytes: 5000, xonBytes: 1000, headroomBytes: [9000, 9000, 9000, 9000] }
  const { node, pool } = watched({ mode: 'models', models: [INCAST] }, { pfc })
  halfLoad(node, pool, 30, 2)
  // Kmin of 4,800 bytes is above 0.8 of 5,000. Of six or seven packets in a period one port brings half, or one more.
  const { queues, byReason } = reportOf(node, 30 * PERIOD_NS)
  const { kminBytes, kmaxBytes } = queues[0]!
  t.equal(kminBytes, 4000)
  t.ok(kmaxBytes > 6900 && kmaxBytes <= 8000, `${kmaxBytes}`)
  // The share swings between a half and four sevenths, and its mean falls from 1 to there by halves.
  t.ok(byReason.room <= 6, `${byReason.room} changes of the room`)
})

t.test('the first four periods of traffic are short, after a silence again', async t => {
  const { node, pool } = watched()
  const at = (now: number) => {
    finish(node, pool, now)
    return reportOf(node, now).queues[0]!.periods
  }
  for (const begin of [0, 10 * PERIOD_NS]) {
    const before = at(begin)
    for (let now = begin; now < begin + 3 * PERIOD_NS; now += 8000) {
      finish(node, pool, now)
      send(node, pool, now, 0)
    }
    t.equal(
      reportOf(node, begin + 3 * PERIOD_NS).queues[0]!.periods - before,
      5,
      'four, and one of two long ones',
    )
  }
})

t.test('a CNP that comes back when a burst is over counts in the next one; a restart forgets it', async t => {
  for (const restarts of [false, true]) {
    const { node, pool } = watched(LONG)
    send(node, pool, 0, 0)
    finish(node, pool, 4 * PERIOD_NS)
    const cnp = { from: HOST(3), to: HOST(0), destQpn: 9, opcode: Opcode.CNP, tos: 6 << 5 }
    node.onFrame(5 * PERIOD_NS, 3, buildFrame(pool, cnp))
    finish(node, pool, 6 * PERIOD_NS)
    if (restarts) node.restart(7 * PERIOD_NS)
    send(node, pool, 8 * PERIOD_NS, 0)
    finish(node, pool, 12 * PERIOD_NS)
    t.equal(reportOf(node, 12 * PERIOD_NS).queues[0]!.senders, restarts ? 'acks' : 'cnps')
  }
})

t.test('a CNP that comes back tells how the senders hear of marks', async t => {
  const { node, pool } = watched(LONG)
  send(node, pool, 0, 0)
  const cnp = { from: HOST(3), to: HOST(0), destQpn: 9, opcode: Opcode.CNP, tos: 6 << 5 }
  for (const port of [3, 2, 3]) node.onFrame(2000, port, buildFrame(pool, cnp))
  finish(node, pool, PERIOD_NS)
  t.match(reportOf(node, PERIOD_NS).queues[0], { senders: 'cnps', traffic: { cnps: 2 } })

  const kind = new SenderKind()
  const after = (periods: number, features: Partial<QueueFeatures>) => {
    for (let i = 0; i < periods; i++) kind.onPeriod({ ...QUIET, ...features })
    return kind.kind
  }
  t.equal(kind.kind, 'acks')
  t.equal(after(1, { cnps: 1 }), 'cnps')
  t.equal(after(100, {}), 'cnps', 'no marks, so nothing is to be answered')
  t.equal(after(19, { marks: 5 }), 'cnps')
  t.equal(after(1, { marks: 5, cnps: 1 }), 'cnps')
  t.equal(after(19, { marks: 5 }), 'cnps')
  t.equal(after(1, { marks: 5 }), 'acks')
})

/** Two queues towards host 3, of priorities 3 and 4. */
function twoPriorities() {
  const { node, pool } = watched({ ...LONG, priorities: [3, 4] })
  /** Two of seven packets that come at once find more than 3,000 bytes. A single one finds none. */
  const burst = (now: number, priority: number, packets: number, from = 0) => {
    for (let i = 0; i < packets; i++) {
      const frame = {
        from: HOST(from),
        to: HOST(3),
        wireBytes: 1000,
        destQpn: priority,
        tos: (priority << 5) | 2,
      }
      node.onFrame(now, from, buildFrame(pool, frame))
      if (i === 0) drain(node, now, sent => pool.give(sent))
    }
  }
  const cnp = (now: number, to = 0) => {
    const frame = { from: HOST(3), to: HOST(to), destQpn: 9, opcode: Opcode.CNP, tos: 6 << 5 }
    node.onFrame(now, 3, buildFrame(pool, frame))
  }
  /** By queue: priority, marks and CNPs that have counted. */
  const sums = (now: number) =>
    reportOf(node, now).queues.map(({ priority, periods, traffic }) => [
      priority,
      Math.round(traffic.marks * periods),
      Math.round(traffic.cnps * periods),
    ])
  return { node, pool, burst, cnp, sums }
}

t.test(
  'a CNP counts for the queue that has marked packets of the host that it goes to: DCTCP beside DCQCN',
  async t => {
    const { node, pool, burst, cnp, sums } = twoPriorities()
    let now = 0
    // Host 0 sends by DCTCP in priority 3: no CNP answers its marks. Host 1 sends by DCQCN in priority 4.
    const round = (priority: number, from: number, to: number) => {
      burst(now, priority, 7, from)
      finish(node, pool, now + PERIOD_NS)
      now += PERIOD_NS
      if (to >= 0) cnp(now, to)
      burst(now, 3, 1, 0)
      burst(now, 4, 1, 1)
      now += 40 * PERIOD_NS
      finish(node, pool, now)
      return sums(now)
    }
    round(3, 0, -1)
    for (let n = 1; n <= 3; n++)
      t.same(round(4, 1, 1), [
        [3, 2, 0],
        [4, 2 * n, n],
      ])
    t.same(
      reportOf(node, now).queues.map(({ senders }) => senders),
      ['acks', 'cnps'],
    )
    t.same(
      round(4, 1, 2),
      [
        [3, 2, 0],
        [4, 8, 3],
      ],
      'of a switch behind, while marks of both are not answered',
    )
  },
)

t.test(
  'of two priorities a CNP counts for those whose marks no CNP has answered, and for both where none are',
  async t => {
    const { node, pool, burst, cnp, sums } = twoPriorities()
    let now = 0
    const round = (bursts: readonly (readonly [priority: number, packets: number])[], restarts = false) => {
      for (const [priority, packets] of bursts) {
        burst(now, priority, packets)
        finish(node, pool, now + PERIOD_NS)
        now += PERIOD_NS
      }
      if (restarts) node.restart(now)
      cnp(now)
      // One packet of each, so that both have a period in which the CNP is read.
      for (const priority of [3, 4]) burst(now, priority, 1)
      now += 40 * PERIOD_NS
      finish(node, pool, now)
      return sums(now)
    }
    t.same(
      round([
        [3, 1],
        [4, 7],
      ]),
      [
        [3, 0, 0],
        [4, 2, 1],
      ],
      'marks of one alone',
    )
    t.same(
      round([
        [3, 7],
        [4, 7],
      ]),
      [
        [3, 2, 1],
        [4, 4, 2],
      ],
      'of both',
    )
    t.same(
      round([
        [3, 1],
        [4, 1],
      ]),
      [
        [3, 2, 2],
        [4, 4, 3],
      ],
      'of a switch behind',
    )
    t.same(
      round([[3, 7]]),
      [
        [3, 4, 3],
        [4, 4, 3],
      ],
      'of the other one',
    )
    t.same(
      round([[4, 7]], true),
      [
        [3, 4, 4],
        [4, 6, 4],
      ],
      'a restart forgets what is not answered',
    )
  },
)

t.test('models of other senders do not count', async t => {
  const models = [model('low', 0.2, 0.5), { ...model('low', 0.2, 0.5), senders: 'cnps' as const, kminNs: 7 }]
  const matcher = new TrafficMatcher(models, 1)
  matcher.onPeriod({ ...QUIET, throughput: 0.2 }, 'acks')
  t.equal(matcher.model, models[0])
  matcher.onPeriod({ ...QUIET, throughput: 0.2 }, 'cnps')
  t.equal(matcher.model, models[1])
})

t.test('by steps alone thresholds stay below xoff too, from thresholds that did not', async t => {
  const { node, pool } = watched(
    { mode: 'tune' },
    {
      ecn: { kminBytes: 20_000, kmaxBytes: 90_000, pmax: 1 },
      pfc: { priorities: [3], xoffBytes: 10_000, xonBytes: 1000, headroomBytes: [9000, 9000, 9000, 9000] },
    },
  )
  halfLoad(node, pool, 60)
  const { decisions, byReason } = reportOf(node, 60 * PERIOD_NS)
  t.match(decisions[0], {
    atNs: PERIOD_NS / 4,
    priority: 3,
    why: 'room',
    before: { kmaxBytes: 90_000 },
    after: { kmaxBytes: 8000 },
  })
  t.ok(decisions.every(({ after }) => after.kminBytes <= after.kmaxBytes && after.kmaxBytes <= 8000))
  t.ok(byReason.try > 1 && byReason.back > 1)
})

t.test('acknowledgements alone change nothing', async t => {
  const { node, pool } = watched({ mode: 'tune' }, { ecn: { kminBytes: 20_000, kmaxBytes: 90_000, pmax: 1 } })
  for (let now = 0; now < 40 * PERIOD_NS; now += 2000) {
    finish(node, pool, now)
    send(node, pool, now, 0, 1, Opcode.RC_ACKNOWLEDGE)
  }
  t.match(reportOf(node, 40 * PERIOD_NS), { changes: 0, queues: [{ periods: 0, kmaxBytes: 90_000 }] })
})

t.test('other queues keep their thresholds', async t => {
  const { node, pool } = watched({ mode: 'models', models: [INCAST] })
  halfLoad(node, pool, 5)
  t.equal(reportOf(node, 1e6).queues[0]!.kmaxBytes, 38_400)
  t.match(node.report(1e6, 0).aiEcn!.queues[0], { kminBytes: 3000, kmaxBytes: 3000, pmax: 1, periods: 0 })
})

t.test('a scenario that cannot work is refused', async t => {
  const of = (sw: string) =>
    problemsOf(`
name: a
hosts: [h1, h2]
switches: { s1: ${sw} }
links: [h1--s1, h2--s1]
link: { rate: 1Gbps, delay: 1us }
traffic: [{ from: h1, to: h2, size: 1KB }]
`)
  const said = (sw: string) => of(sw).join('\n')
  t.match(said('{ aiEcn: {} }'), /no queue of priority 3 is marked; set ecn/)
  t.match(
    said('{ aiEcn: {}, ecn: { kmin: 1KB, kmax: 2KB, priorities: [4] } }'),
    /add priority 3 to an entry of ecn/,
  )
  t.match(
    said('{ aiEcn: { least: 2us, most: 1us }, ecn: { kmin: 1KB, kmax: 2KB } }'),
    /least must not be above most/,
  )
  t.equal(said('{ aiEcn: {}, ecn: { kmin: 1KB, kmax: 2KB } }'), '')
})

t.test(
  'a switch that restarts has the thresholds that are configured, and knows no traffic; counts remain',
  async t => {
    const { node, pool } = watched({ mode: 'models', models: [INCAST] })
    const configured = { kminBytes: 3000, kmaxBytes: 3000, pmax: 1 }
    halfLoad(node, pool, 5)
    const at = 5 * PERIOD_NS
    const before = reportOf(node, at)
    t.match(before.queues[0], { model: 'any', kminBytes: 4800 })
    t.equal(before.changes, 1)
    node.restart(at)
    const after = reportOf(node, at)
    t.match(after.queues[0], { ...configured, model: null, periods: before.queues[0]!.periods })
    t.same(after.byReason, { ...before.byReason, restart: 1 })
    t.match(after.decisions.at(-1), { atNs: at, why: 'restart', model: null, after: configured })
    t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY, 'its timers have stopped')
    // A second one changes nothing.
    node.restart(at + 1)
    t.equal(reportOf(node, at + 1).changes, 2)
    // Traffic is recognised anew, after as many periods as at first.
    for (let now = at + 16_000; now < at + 5 * PERIOD_NS; now += 16_000) {
      finish(node, pool, now)
      send(node, pool, now, 0)
    }
    t.match(reportOf(node, 2 * at).queues[0], { model: 'any', kminBytes: 4800 })
    t.equal(reportOf(node, 2 * at).changes, 3)
  },
)

t.test('a link that goes down empties the queue: what waited counts until then', async t => {
  const { node, pool } = watched(LONG)
  for (let i = 0; i < 4; i++) send(node, pool, 0, 0)
  drain(node, 0, frame => pool.give(frame))
  node.setLink(4000, 3, false)
  node.setLink(4000, 3, true)
  send(node, pool, 20_000, 0)
  finish(node, pool, PERIOD_NS)
  // 3,000 bytes for 4 us are 12e6 byte ns over 100 us: 120 bytes, for which 4.8 Gbit/s need 200 ns.
  t.match(reportOf(node, PERIOD_NS).queues[0], { periods: 1, traffic: { delayNs: 200 } })
})

/** Known at 30 to 70 % of the line alone. */
const HALF: TrafficModel = { ...INCAST, name: 'half', spread: [0.1, 100, 100, 100, 100], radius: 2 }

/** One port sends a packet of 1,000 bytes each `everyNs`, in these periods. */
function load(node: Switch, pool: FramePool, from: number, to: number, everyNs: number): void {
  for (let now = from * PERIOD_NS; now < to * PERIOD_NS; now += everyNs) {
    finish(node, pool, now)
    send(node, pool, now, 0)
  }
  finish(node, pool, to * PERIOD_NS)
}

/** Which thresholds hold, and why: `model half 4800`. */
const decisionsOf = (node: Switch, now: number) =>
  reportOf(node, now).decisions.map(({ why, model, after }) => `${why} ${model} ${after.kminBytes}`)

t.test('after a silence marks begin early, until the traffic is recognised', async t => {
  const { node, pool } = watched({ mode: 'models', models: [HALF] })
  load(node, pool, 0, 5, 16_000)
  t.match(reportOf(node, 5 * PERIOD_NS).queues[0], { model: 'half', early: false, kminBytes: 4800 })
  finish(node, pool, 7 * PERIOD_NS)
  // The least is a packet of ordinary Ethernet.
  const early = { model: 'half', early: true, kminBytes: 1500, kmaxBytes: 1500, pmax: 1 }
  t.match(reportOf(node, 7 * PERIOD_NS).queues[0], early)
  t.match(node.report(7 * PERIOD_NS, 3), { aiEcn: { byReason: { early: 1 } } })
  load(node, pool, 10, 15, 16_000)
  t.match(reportOf(node, 15 * PERIOD_NS).queues[0], { model: 'half', early: false, kminBytes: 4800 })
  t.same(decisionsOf(node, 15 * PERIOD_NS), ['model half 4800', 'early half 1500', 'model half 4800'])
})

t.test('after it comes what no model fits: the thresholds are those before the silence', async t => {
  const { node, pool } = watched({ mode: 'full', models: [HALF] })
  load(node, pool, 0, 5, 16_000)
  finish(node, pool, 10 * PERIOD_NS)
  load(node, pool, 10, 12, 9000)
  t.same(decisionsOf(node, 12 * PERIOD_NS), ['model half 4800', 'early half 1500', 'model null 4800'])
  t.match(reportOf(node, 12 * PERIOD_NS).queues[0], { model: null, early: false })
})

t.test('marks do not begin early without a model, by steps alone, or where senders take CNPs', async t => {
  for (const [options, cnps] of [
    [{ mode: 'models', models: [{ ...HALF, centroid: [0.9, 0.5, 0.5, 0.5, 0.5] }] }, false],
    [{ mode: 'tune' }, false],
    [{ mode: 'models', models: [{ ...HALF, senders: 'cnps' }] }, true],
  ] as const) {
    const { node, pool } = watched(options)
    if (cnps) {
      const cnp = { from: HOST(3), to: HOST(0), destQpn: 9, opcode: Opcode.CNP, tos: 6 << 5 }
      send(node, pool, 0, 0)
      node.onFrame(0, 3, buildFrame(pool, cnp))
    }
    load(node, pool, 0, 5, 16_000)
    if (cnps) t.match(reportOf(node, 5 * PERIOD_NS).queues[0], { model: 'half', senders: 'cnps' })
    finish(node, pool, 10 * PERIOD_NS)
    t.match(reportOf(node, 10 * PERIOD_NS), { byReason: { early: 0 }, queues: [{ early: false }] })
  }
})

t.test('traffic that is one thing and another by turns has the last model after eight periods', async t => {
  const { node, pool } = watched({ mode: 'models', models: [HALF], hold: 3 })
  load(node, pool, 0, 5, 16_000)
  finish(node, pool, 10 * PERIOD_NS)
  // A period at half of the line, and two without a packet but one: the mean goes in and out.
  for (let period = 10; period < 19; period++)
    load(node, pool, period, period + 1, period % 2 ? 10_000 : 60_000)
  const said = decisionsOf(node, 19 * PERIOD_NS)
  t.equal(said[1], 'early half 1500')
  t.notOk(reportOf(node, 19 * PERIOD_NS).queues[0]!.early, said.join(', '))
})
