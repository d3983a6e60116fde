/** Path selection and admission (draft-miao-rtgwg-hpccplus, draft-02, last section) over four paths whose loads are known. */
import t, { type Test } from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { usual, variants } from '../support/long.js'
import { drawnSeed, fixedSeed } from '../support/seeds.js'
import { data, fourPaths, overtaking, type Passed, pathOf, probes, T_NS, writeTo } from './four-paths.js'
import { connected, memoryOf, pattern } from './pair.js'

/** The available source ports, and their paths, are random. So claims are made about one seed. */
const SEED = fixedSeed(t, 1)

/** Least and greatest time between two probes of one source port. */
function gaps(sent: readonly Passed[]): number[] {
  const last = new Map<number, number>()
  const gaps: number[] = []
  for (const { sourcePort, atNs } of sent) {
    if (last.has(sourcePort)) gaps.push(atNs - last.get(sourcePort)!)
    last.set(sourcePort, atNs)
  }
  return gaps
}

const VARIANTS: [string, Partial<NicConfig>][] = [
  ['wide', {}],
  ['compact data', { int: { format: 'compact', hops: 3 } }],
  ['with a key', { secret: Buffer.from('correct horse battery') }],
  ['receiver-based', { cc: { name: 'rx-hpcc', options: {} } }],
  ['a fixed window', { cc: { name: 'fixed-window', options: {} } }],
]

for (const [name, config] of variants(VARIANTS, 1)) {
  t.test(`${name}: a new flow takes the least used of the paths that it has probed`, async t => {
    const random = new Random(SEED)
    const { secret } = config
    for (let n = 0; n < 4; n++) {
      const net = fourPaths({ paths: { count: 6 }, ...config }, { secret }, random.u32())
      const { left } = connected(net.pair)
      for (let p = 0; p < 4; p++) {
        net.loads[p] = random.below(80) / 100
        net.queues[p] = random.below(3) * random.below(4000)
      }
      net.passed.length = 0
      const sent = pattern(n, 50_000)
      const arrived = writeTo(net.pair, left, 1, sent)
      t.ok(
        net.pair.until(() => left.log.includes('completion 1 SUCCESS')),
        left.log.join(),
      )
      t.ok(arrived.equals(sent))
      const firstData = data(net.passed)[0]!
      const before = probes(net.passed).filter(({ atNs }) => atNs < firstData.atNs)
      const known = [...new Set(before.map(({ sourcePort }) => sourcePort))].filter(
        port => before.filter(({ sourcePort }) => sourcePort === port).length >= 2,
      )
      const least = Math.min(...known.map(net.utilization))
      const ports = new Set(data(net.passed).map(({ sourcePort }) => sourcePort))
      t.equal(ports.size, 1)
      const [port] = ports
      const chosen = net.utilization(port!)
      t.ok(
        chosen <= least + 0.03,
        `${chosen} by port ${port}, least ${least} of ${known.map(net.utilization)}`,
      )
      t.ok(
        gaps(before).every(gap => gap >= T_NS),
        'one probe of a path in a round trip',
      )
      t.ok(before.length <= 6 * 4, `${before.length} probes`)
      const { stats } = left.connection!
      t.equal(stats.sourcePort, port)
      t.equal(stats.pathMoves, 0)
      net.pair.network.runUntil(net.pair.network.now + 10 * T_NS)
      const all = probes(net.passed)
      t.same(
        [stats.pathProbes, stats.pathProbeBytes],
        [all.length, all.reduce((s, { wireBytes }) => s + wireBytes, 0)],
      )
      // The other end follows: its acknowledgements take the data's links.
      const acks = net.passed.filter(({ kind, fromA }) => kind === 'RC_ACKNOWLEDGE' && !fromA)
      t.ok(acks.length > 0 && acks.every(({ sourcePort }) => sourcePort === port), 'acknowledgements')
      const rx = [net.pair.a.counters.rx, net.pair.b.counters.rx]
      for (const counters of rx) {
        t.same([counters.unknownOpcode, counters.implausibleTelemetry, counters.forgedFeedback], [0, 0, 0])
      }
      net.pair.settle()
      t.equal(net.pair.pool.inUse, 0)
    }
  })
}

usual('one probe of a path in an interval, and none while there is nothing to send', async t => {
  const intervalNs = 200_000
  const net = fourPaths({ paths: { count: 5, start: 'hash', intervalNs } })
  const { left } = connected(net.pair)
  net.passed.length = 0
  writeTo(net.pair, left, 1, Buffer.alloc(2_000_000))
  t.ok(net.pair.until(() => left.log.includes('completion 1 SUCCESS')))
  const sent = probes(net.passed)
  const lasted = net.pair.network.now - data(net.passed)[0]!.atNs
  t.ok(sent.length > 20, `${sent.length} probes`)
  t.ok(sent.length <= 5 * (1 + lasted / intervalNs), `${sent.length} probes in ${lasted} ns`)
  t.ok(
    gaps(sent).every(gap => gap >= intervalNs),
    `${Math.min(...gaps(sent))}`,
  )
  net.pair.network.runUntil(net.pair.network.now + 100 * intervalNs)
  t.equal(probes(net.passed).length, sent.length, 'an idle connection sends none')
})

usual('of source ports that the host cannot send from none is probed', async t => {
  const sourcePorts = [50_000, 50_001, 50_002]
  const net = fourPaths({ paths: { count: 16 }, sourcePorts }, { sourcePorts })
  const { left } = connected(net.pair)
  net.loads[pathOf(50_000)] = 0.5
  net.loads[pathOf(50_002)] = 0.5
  net.passed.length = 0
  writeTo(net.pair, left, 1, Buffer.alloc(10_000))
  t.ok(net.pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.same([...new Set(probes(net.passed).map(({ sourcePort }) => sourcePort))].sort(), sourcePorts)
  t.same([...new Set(data(net.passed).map(({ sourcePort }) => sourcePort))], [50_001])
})

/** A flow sends continuously. Then others fill its path, and no other path. */
function crowdedOut(t: Test, config: Partial<NicConfig>, inPieces: boolean, seed: number) {
  const net = fourPaths({ ...config, paths: { count: 8, ...config.paths } }, { secret: config.secret }, seed)
  const { pair } = net
  const { left } = connected(pair)
  const sent = pattern(seed, inPieces ? 20_000 : 4_000_000)
  const pieces = inPieces ? 100 : 1
  const targets: Buffer[] = []
  let crowded = -1
  for (let n = 0; n < pieces; n++) {
    targets.push(writeTo(pair, left, n, sent))
    const done = () => left.log.includes(`completion ${n} SUCCESS`)
    if (crowded < 0 && (n === 10 || pieces === 1)) {
      pair.until(() => data(net.passed).length > 1000 || done())
      crowded = data(net.passed).at(-1)!.sourcePort
      net.loads[pathOf(crowded)] = 0.6
    }
    if (!pair.until(done)) t.fail(left.log.join())
  }
  t.ok(
    targets.every(bytes => bytes.equals(sent)),
    'all arrived',
  )
  t.same(overtaking(net.passed), [], 'nothing was in flight by the old path when the new one was taken')
  t.equal(left.connection!.stats.retransmittedBytes, 0)
  return { net, stats: left.connection!.stats, crowded, last: data(net.passed).at(-1)!.sourcePort }
}

for (const [name, config] of variants(VARIANTS.slice(0, -1), 1)) {
  t.test(`${name}: a flow that runs drains, and moves to a path that others use less`, async t => {
    const { stats, crowded, last, net } = crowdedOut(t, { ...config, paths: { move: 'drain' } }, false, SEED)
    t.ok(stats.pathMoves >= 1, `${stats.pathMoves} moves`)
    t.not(pathOf(last), pathOf(crowded))
    t.equal(stats.implausibleTelemetry, 0)
    const ports = new Set(data(net.passed).map(({ sourcePort }) => sourcePort))
    t.ok(ports.size <= 1 + stats.pathMoves)
  })
  t.test(`${name}: one with pauses moves in a pause`, async t => {
    const { stats, crowded, last } = crowdedOut(t, { ...config, paths: { move: 'idle' } }, true, SEED)
    t.ok(stats.pathMoves >= 1, `${stats.pathMoves} moves`)
    t.not(pathOf(last), pathOf(crowded))
  })
}

usual('a flow that moves loses and overtakes nothing, whatever its source ports are', async t => {
  crowdedOut(t, { paths: { move: 'drain' } }, false, drawnSeed(t))
})

usual('a flow that is never idle stays, unless it may drain; one that may not move stays', async t => {
  const busy = crowdedOut(t, { paths: { move: 'idle' } }, false, SEED)
  t.same(new Set(data(busy.net.passed).map(({ sourcePort }) => sourcePort)), new Set([busy.crowded]))
  const still = crowdedOut(t, { paths: { move: 'never' } }, true, SEED)
  t.same([still.stats.pathMoves, still.last], [0, still.crowded])
})

usual('a flow alone on its path, which it fills, stays there', async t => {
  const net = fourPaths({ paths: { count: 8, move: 'drain' } })
  const { left } = connected(net.pair)
  writeTo(net.pair, left, 1, Buffer.alloc(4_000_000))
  t.ok(net.pair.until(() => left.log.includes('completion 1 SUCCESS')))
  const { pathMoves, pathUtilization, pathProbes } = left.connection!.stats
  t.equal(pathMoves, 0)
  t.ok(pathUtilization > 0.8, `U of its own path is ${pathUtilization}`)
  t.ok(pathProbes > 8 * 10)
})

usual('losses of probes and answers delay no flow for ever', async t => {
  const net = fourPaths({ paths: { count: 4 } })
  const { left } = connected(net.pair)
  const { watch } = net.pair.tap
  net.pair.tap.watch = (frame, now, fromA) => {
    const passes = watch(frame, now, fromA)
    return passes && !net.passed.at(-1)!.kind.startsWith('PATH_')
  }
  const began = net.pair.network.now
  writeTo(net.pair, left, 1, Buffer.alloc(10_000))
  t.ok(net.pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.ok(data(net.passed)[0]!.atNs - began < 4 * 4 * T_NS + T_NS, 'four rounds, each given up after 4 T')
})

usual('READ: the end that answers chooses the path, the end that asks follows', async t => {
  const net = fourPaths({}, { paths: { count: 16 } })
  const { left, right } = connected(net.pair)
  net.loads.splice(0, 4, 0.5, 0.5, 0.1, 0.5)
  const bytes = pattern(7, 200_000)
  const there = memoryOf(net.pair.b, bytes)
  const into = Buffer.alloc(bytes.length)
  const here = memoryOf(net.pair.a, into)
  const remote = { remoteAddress: there.address, rkey: there.key }
  for (const id of [1, 2]) {
    const work = {
      id,
      opcode: WorkOpcode.RDMA_READ,
      region: here,
      offset: 0,
      length: bytes.length,
      ...remote,
    }
    t.ok(left.connection!.postSend(net.pair.network.now, work))
    net.pair.kick()
    t.ok(net.pair.until(() => left.log.includes(`completion ${id} SUCCESS`)))
    net.pair.network.runUntil(net.pair.network.now + 20 * T_NS)
  }
  t.ok(into.equals(bytes))
  t.ok(
    data(net.passed, false).every(({ sourcePort }) => pathOf(sourcePort) === 2),
    'responses',
  )
  t.equal(probes(net.passed, true).length, 0)
  t.equal(right.connection!.stats.sourcePort, left.connection!.stats.sourcePort)
})
