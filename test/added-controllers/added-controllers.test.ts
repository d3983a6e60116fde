/**
 * Controllers that a program adds: one object each, registered in the catalogue. The NIC, scenario files,
 * their reference, helps and the agreement at connect use them without another change. This file runs in a
 * process of its own, because the catalogue keeps them.
 */
import t from 'tap'
import { addController, createCongestionControl } from '../../lib/cc/catalogue.js'
import { FeedbackSource } from '../../lib/cc/congestion-control.js'
import type { Frame } from '../../lib/frame/frame.js'
import { Receiver } from '../../lib/nic/flow/receiver.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { printFrame } from '../../lib/wire/print.js'
import * as arrival from '../../lib/wire/weir/arrival.js'
import {
  type App,
  connected,
  DELAY_NS,
  frameName,
  makePair,
  memoryOf,
  type Pair,
  type PairOptions,
  RATE_BPS,
} from '../nic/pair.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { drawnSeed } from '../support/seeds.js'
import {
  cnpSamples,
  cnpsHeard,
  DATA_WAY,
  dataWayHeard,
  GIVEN,
  GREEDY,
  greedyHeard,
  MARKED,
  OFTEN,
  PROBED,
  probedHeard,
  STAMPS,
  stampsHeard,
  WAY_BACK,
  wayBackHeard,
  windowsTaken,
} from './throw-away.js'

const seed = drawnSeed(t)
const ADDED = [STAMPS, WAY_BACK, DATA_WAY, MARKED, OFTEN, PROBED, GREEDY, GIVEN]
for (const entry of ADDED) addController(entry)

// Imported only now, because these modules make schemas and helps from the catalogue.
const { parseScenario } = await import('../../lib/scenario/read/load-scenario.js')
const { generatedFiles } = await import('../../lib/scenario/schema/generated-files.js')
const { daemonCommand } = await import('../../bin/commands/daemon.js')
const { VirtualRun } = await import('../../switch-emu/virtual/virtual-run.js')
const { problemsOf } = await import('../scenario/problems-at.js')

const BYTES = 300_000
const chosen = (name: string, options = {}) => ({ cc: { name, options }, baseRttNs: 20_000 })

/** `a` writes BYTES to `b`, and `b` to `a` if `bothWays`. */
function transfer(options: PairOptions, bothWays = false) {
  const pair = makePair(options)
  const { watch } = pair.tap
  const { left, right } = connected(pair)
  const ends: [typeof left, typeof pair.a, typeof pair.b][] = [[left, pair.a, pair.b]]
  if (bothWays) ends.push([right, pair.b, pair.a])
  const run = (watcher = watch) => {
    pair.tap.watch = watcher
    for (const [app, from, to] of ends) {
      const region = memoryOf(from, Buffer.alloc(BYTES))
      const there = memoryOf(to, Buffer.alloc(BYTES))
      const remote = { remoteAddress: there.address, rkey: there.key }
      app.connection!.postSend(pair.network.now, {
        id: 1,
        opcode: WorkOpcode.RDMA_WRITE,
        region,
        offset: 0,
        length: BYTES,
        ...remote,
      })
    }
    const done = pair.until(() => ends.every(([app]) => app.log.includes('completion 1 SUCCESS')))
    pair.settle()
    return done
  }
  return { pair, left, right, run }
}

t.test('scenario files, their reference, their schema and the help of a daemon name them', async t => {
  const files = generatedFiles()
  const page = files['docs/scenario-reference.md']!
  t.match(
    page,
    /Options of the controller `stamps`\. It needs of the receiving host: time stamps, hop counts; cubic takes over/,
  )
  t.match(page, '| `cc.target` | time, 1us to 1s | `20us` |')
  t.match(page, /`given`.*telemetry, windows by given; fixed-window takes over/)
  t.match(JSON.stringify(JSON.parse(files['schema/scenario.schema.json']!)), '"const":"way-back"')
  let help = ''
  const command = daemonCommand()
  command.configureOutput({ writeOut: more => (help += more), getOutHelpWidth: () => 1000 })
  command.outputHelp()
  t.match(help, /stamps:\s+needs of the receiving host: time stamps, hop counts; cubic takes over without\n/)
  t.match(help, 'target=1us to 1s, default 20us')
  const base =
    'hosts: [h1, h2]\nswitches: [s1]\nlinks: [h1--s1, h2--s1]\ntraffic: [{from: h1, to: h2, size: 1MB}]\n'
  t.match(problemsOf(`${base}cc: {name: stamps, target: 1ns}`)[0], /target/)
  t.match(
    problemsOf(`${base}cc: {name: marked}\ntelemetry: {everyPackets: 2}`)[0],
    /cc is marked, which uses no telemetry/,
  )
})

t.test(
  'time stamps: of the arrival, and of the departure of the answer, by the clock of the peer',
  async t => {
    const { pair, run, left } = transfer(
      {
        a: { ...chosen('stamps'), ackEveryPackets: 4 },
        b: { ...chosen('fixed-window'), ackEveryPackets: 4 },
      },
      true,
    )
    t.same(left.connection!.stats.feedbackGranted, ['time stamps', 'hop counts'])
    stampsHeard.length = 0
    // The tap takes no time. A frame is in flight for DELAY_NS before it, and for DELAY_NS after it.
    const arrivals = new Set<number>()
    let acks = 0
    const done = run((frame, now, fromA) => {
      const name = frameName(frame)
      if (fromA && name.startsWith('RC_RDMA_WRITE')) arrivals.add(now + DELAY_NS)
      if (!fromA && name.startsWith('STAMPED')) {
        acks++
        const at = frame.payload - arrival.BYTES
        const bitsNs = Math.ceil((frame.wireLength * 8e9) / RATE_BPS)
        t.ok(arrivals.has(arrival.arrivedNs(frame.view, at)), 'a packet arrived then')
        t.ok(Math.abs(arrival.leftNs(frame.view, at) - (now - DELAY_NS - bitsNs)) <= 1, 'it left then')
        t.match(printFrame(frame), /STAMPED_ACK .* arrived \d+ ttl 64 left \d+/)
      }
      t.notOk(fromA && name.startsWith('STAMPED'), 'the peer has not asked for any')
      return true
    })
    t.ok(done)
    t.ok(acks > 20, `${acks} acknowledgements`)
    const full = stampsHeard.filter(({ turnaroundNs }) => turnaroundNs >= 0)
    t.ok(full.length > 20, `${full.length} of ${stampsHeard.length}`)
    t.ok(
      full.some(({ turnaroundNs }) => turnaroundNs > 500),
      'the peer was busy with data of its own',
    )
    for (const { now, source, sentNs, rttNs, arrivedNs, leftNs, turnaroundNs, hopCount } of full) {
      t.equal(source, FeedbackSource.ACK)
      t.equal(sentNs + rttNs, now)
      // In virtual time both hosts have one clock.
      t.ok(
        sentNs < arrivedNs && arrivedNs <= leftNs && leftNs < now,
        `${sentNs} ${arrivedNs} ${leftNs} ${now}`,
      )
      t.equal(turnaroundNs, leftNs - arrivedNs)
      t.equal(hopCount, 0, 'no switch')
    }
    t.equal(pair.pool.inUse, 0)
  },
)

t.test('they come with SACKs, with a key, over IPv6, and in order after a loss', async t => {
  for (const more of [{ secret: Buffer.alloc(32, 5) }, {}]) {
    const { pair, run } = transfer({ v6: true, a: { ...chosen('stamps'), ...more }, b: more })
    stampsHeard.length = 0
    const names = new Set<string>()
    let n = 0
    const done = run((frame, _now, fromA) => {
      const name = frameName(frame)
      names.add(name)
      return !(fromA && name === 'RC_RDMA_WRITE_MIDDLE' && ++n % 50 === 0)
    })
    t.ok(done)
    t.ok(names.has('STAMPED_SACK') && names.has('STAMPED_ACK'), [...names].join())
    t.notOk(names.has('RC_ACKNOWLEDGE') || names.has('SACK'))
    for (const { now, sentNs, arrivedNs, leftNs, turnaroundNs } of stampsHeard) {
      if (turnaroundNs < 0 || sentNs < 0) continue
      t.ok(sentNs < arrivedNs && leftNs < now, `${sentNs} ${arrivedNs} ${leftNs} ${now}`)
    }
    t.equal(pair.pool.inUse, 0)
  }
})

t.test('a header that is not sound, or that nobody asked for, is dropped and counted', async t => {
  const { pair, run } = transfer({ a: chosen('stamps') })
  let spoilt = 0
  const done = run((frame, _now, fromA) => {
    if (!fromA && frameName(frame).startsWith('STAMPED') && spoilt < 3) {
      spoilt++
      frame.view.setUint8(frame.payload - arrival.BYTES + 1, 1)
      icrc.write(frame)
    }
    return true
  })
  t.ok(done)
  t.equal(spoilt, 3)
  t.equal(pair.a.counters.rx.malformed, 3)

  const other = transfer({ a: chosen('fixed-window') })
  let forged = 0
  const moved = other.run((frame, now, fromA) => {
    if (!fromA && frameName(frame) === 'RC_ACKNOWLEDGE' && forged < 3) {
      forged++
      const bytes = frame.wireLength - icrc.BYTES
      frame.length = bytes
      frame.wireLength = bytes
      arrival.add(frame, now, now, 0)
      ipv4.setTotalLength(frame.view, frame.l3, frame.wireLength + icrc.BYTES - frame.l3)
      frame.view.setUint16(frame.l4 + 4, frame.wireLength + icrc.BYTES - frame.l4)
      frame.length = frame.wireLength + icrc.BYTES
      frame.wireLength = frame.length
      icrc.write(frame)
    }
    return true
  })
  t.ok(moved)
  t.equal(other.pair.a.counters.rx.unknownOpcode, forged)
  t.ok(forged > 0)
})

t.test('where the peer is older, what takes over is cubic, and both ends say so', async t => {
  const pair = makePair({ a: chosen('stamps') })
  pair.tap.watch = frame => {
    if (frameName(frame) !== 'REP') return true
    const at = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4) + 8
    frame.bytes[at] = frame.bytes[at]! & 0x9f
    frame.bytes[at + 1] = 0
    icrc.write(frame)
    return true
  }
  const { left } = connected(pair)
  pair.settle()
  t.match(left.connection!.stats, {
    controller: 'cubic',
    controllerReason: /stamps would need.*time stamps/,
    feedbackRefused: ['time stamps', 'hop counts'],
  })
})

const NETWORK = `
hosts: [h1, h2, h3]
switches: {s1: {}, s2: {}}
link: {rate: 10Gbps, delay: 1us}
links: [h1--s1, h2--s1, s1--s2, s2--h3]
`

/** h1 sends to h3 with the controller, and h3 and h1 to h2, whose data shares queues with both ways. */
const BOTH_WAYS = (cc: string) =>
  `${NETWORK}cc: fixed-window\ntraffic: [{from: h1, to: h3, size: 600KB, cc: ${cc}}, {from: h3, to: h2, size: 600KB}, {from: h2, to: h3, size: 600KB}]`

t.test('telemetry of the way back: in the order of the acknowledgement, with the queues there', async t => {
  wayBackHeard.length = 0
  const result = new VirtualRun(parseScenario(BOTH_WAYS('way-back'), 'x.yaml')).run()
  t.equal(result.flows[0]!.ackedBytes, 600_000)
  const back = wayBackHeard.filter(({ reverse }) => reverse.length > 0)
  const forth = wayBackHeard.filter(({ hops }) => hops.length > 0)
  t.ok(back.length > 500, `${back.length} with hops of the way back`)
  t.ok(forth.length > 500, `${forth.length} with hops of the data's way`)
  const [first] = forth
  t.equal(first!.hops.length, 2)
  t.notSame(first!.hops[0], first!.hops[1])
  for (const { reverse, source } of forth) {
    t.equal(source, FeedbackSource.NOTIFY)
    t.same(reverse, [])
  }
  for (const { reverse, source, hops } of back) {
    t.equal(source, FeedbackSource.ACK)
    t.same(reverse, [...first!.hops].reverse())
    t.same(hops, [])
  }
})

t.test(
  'telemetry that acknowledgements collect of the way of the data: in its order, its queues, with N',
  async t => {
    dataWayHeard.length = 0
    wayBackHeard.length = 0
    const [result] = ['data-way', 'way-back'].map(cc =>
      new VirtualRun(parseScenario(BOTH_WAYS(cc), 'x.yaml')).run(),
    )
    t.equal(result!.flows[0]!.ackedBytes, 600_000)
    const inData = wayBackHeard.find(({ hops }) => hops.length > 0)!
    t.ok(dataWayHeard.length > 500)
    for (const { source, hops, reverse, hopCount, flows } of dataWayHeard) {
      t.equal(source, FeedbackSource.ACK)
      t.same(hops, inData.hops)
      t.same(reverse, [])
      t.equal(hopCount, 2)
      t.ok(flows >= 1 && flows <= 2, `${flows} flows`)
    }
    // s1 and s2 have data of h1 and h2 for h3. It arrives at 20 Gbit/s and leaves at 10 Gbit/s: it waits at
    // s1, and nothing waits at s2.
    const worst = (at: number) => Math.max(...dataWayHeard.map(({ queues }) => queues[at]!))
    t.ok(worst(0) > 5000, `${worst(0)} bytes at s1`)
    t.ok(worst(1) < 5000, `${worst(1)} bytes at s2`)
  },
)

t.test('hop counts: switches that the data has passed', async t => {
  stampsHeard.length = 0
  const file = `${NETWORK}cc: {name: stamps, target: 30us}\ntraffic: [{from: h1, to: h3, size: 300KB}]`
  const result = new VirtualRun(parseScenario(file, 'x.yaml')).run()
  t.equal(result.flows[0]!.ackedBytes, 300_000)
  t.ok(stampsHeard.length > 100)
  for (const { hopCount } of stampsHeard) t.equal(hopCount, 2)
})

t.test('CNPs: for marks, no more than one in their interval, to whoever needs them', async t => {
  const file = (cc: string) =>
    `${NETWORK.replace('s1: {}', 's1: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 100%}}')}cc: {name: ${cc}}\ntraffic: [{from: h1, to: h3, size: 1MB}, {from: h2, to: h3, size: 1MB}]`
  cnpsHeard.length = 0
  const result = new VirtualRun(parseScenario(file('marked'), 'x.yaml')).run()
  const ms = Math.max(...result.flows.map(({ fctNs }) => fctNs!)) / 1e6
  t.ok(cnpsHeard.length > 10, `${cnpsHeard.length} in ${ms} ms`)
  t.ok(cnpsHeard.length <= 2 * (ms * 20 + 1), `${cnpsHeard.length} in ${ms} ms, of two flows`)
  const ofCnps = cnpSamples.filter(({ source }) => source === FeedbackSource.CNP)
  t.equal(ofCnps.length, cnpsHeard.length)
  for (const { seq, rttNs, sentNs, hops } of ofCnps) t.same([seq, rttNs, sentNs, hops], [-1, 0, -1, []])
})

t.test('a receiving part: found by its number, with its options', async t => {
  windowsTaken.length = 0
  const { run, left, right } = transfer({ a: chosen('given', { window: 77_000 }) })
  t.same(left.connection!.stats.feedbackGranted, ['telemetry', 'windows by given'])
  t.same(right.connection!.stats.feedbackGiven, ['telemetry', 'windows by given'])
  t.ok(run())
  t.same(windowsTaken, [77_000, 77_000], 'the answer to the request, and what telemetry brings')
})

/** Acknowledgements that b sends for BYTES, and how many packets of a ask for one. */
function acknowledging(b: PairOptions['b'], change: (frame: Frame) => void = () => {}) {
  const pair = makePair({
    a: { ...chosen('often'), ackEveryPackets: 64 },
    b: { ...chosen('fixed-window'), ...b },
  })
  const { watch } = pair.tap
  pair.tap.watch = (frame, now, fromA) => {
    change(frame)
    return watch(frame, now, fromA)
  }
  const { left, right } = connected(pair)
  let acks = 0
  let asks = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (fromA && frame.payloadLength > 0 && bth.ackRequest(frame.view, frame.bth)) asks++
    if (!fromA && frameName(frame) === 'RC_ACKNOWLEDGE') acks++
    return true
  }
  const region = memoryOf(pair.a, Buffer.alloc(BYTES))
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const remote = { remoteAddress: there.address, rkey: there.key }
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region, offset: 0, length: BYTES, ...remote }
  left.connection!.postSend(pair.network.now, work)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  const { feedbackGranted: granted, feedbackRefused: refused } = left.connection!.stats
  const given = right.connection!.stats.feedbackGiven
  return { acks, asks, granted, refused, given, packets: Math.ceil(BYTES / 1024) }
}

t.test(
  'how often acknowledgements come: as asked, as often as the peer can, or because packets ask',
  async t => {
    const asAsked = acknowledging({ ackEveryPackets: 1 })
    t.same(asAsked.granted, ['an ACK each 4 packets'])
    t.same(asAsked.given, asAsked.granted)
    const quarter = asAsked.packets / 4
    t.ok(
      asAsked.acks >= quarter && asAsked.acks < quarter * 1.5,
      `${asAsked.acks} of ${asAsked.packets} packets`,
    )
    t.ok(asAsked.asks < quarter, `${asAsked.asks} packets ask`)

    const asAble = acknowledging({ ackEveryPackets: 16 })
    t.same(asAble.granted, ['an ACK each 16 packets'])
    t.same(asAble.given, asAble.granted)
    t.ok(asAble.acks < quarter, `${asAble.acks} of ${asAble.packets} packets`)

    for (const [what, refusing] of [
      ['a host that acknowledges only what asks', acknowledging({ ackEveryPackets: 0 })],
      ['a plain RoCEv2 peer', acknowledging({ ackEveryPackets: 0, recovery: 'goBackN' }, takeWordsOut)],
    ] as const) {
      t.same(refusing.refused, ['an ACK each 4 packets'], what)
      t.ok(refusing.asks >= quarter && refusing.asks < quarter * 1.5, `${what}: ${refusing.asks} packets ask`)
      t.ok(refusing.acks >= quarter, `${what}: ${refusing.acks} acknowledgements`)
    }
  },
)

t.test('telemetry on probes: no data collects, each probe says when it left', async t => {
  probedHeard.length = 0
  const result = new VirtualRun(parseScenario(BOTH_WAYS('probed'), 'x.yaml')).run()
  t.equal(result.flows[0]!.ackedBytes, 600_000)
  const probed = probedHeard.filter(({ hops }) => hops.length > 0)
  t.ok(probed.length > 2, `${probed.length} probes`)
  for (const { source, hops, rttNs, sentNs, now } of probed) {
    t.equal(source, FeedbackSource.PROBE)
    t.equal(hops.length, 2)
    t.equal(rttNs, 0)
    t.ok(sentNs > 0 && sentNs < now && now - sentNs < 1e6, `${now - sentNs} ns`)
  }
  t.match(
    problemsOf(
      `${NETWORK}cc: probed\ntelemetry: {everyPackets: 2}\ntraffic: [{from: h1, to: h3, size: 1MB}]`,
    )[0],
    /everyPackets.*probed, whose probes collect telemetry/,
  )
})

t.test('a plain RoCEv2 peer gives acknowledgements and CNPs: what becomes of each need', async t => {
  const becomes: Record<string, [controller: string, granted: string[], refused: string[]]> = {
    stamps: ['cubic', ['reports of CE marks'], ['time stamps', 'hop counts']],
    'way-back': ['way-back', [], ['telemetry', 'telemetry of the way back']],
    'data-way': ['data-way', [], ['telemetry collected by ACKs']],
    marked: ['marked', ['CNPs each 50 us'], []],
    often: ['often', [], ['an ACK each 4 packets']],
    probed: ['fixed-window', [], ['answers to probes']],
    given: ['fixed-window', [], ['telemetry', 'windows by given']],
    greedy: [
      'fixed-window',
      [],
      ['telemetry', 'telemetry of the way back', 'time stamps', 'hop counts', 'an ACK each 2 packets'],
    ],
    'rx-hpcc': ['hpcc', [], ['telemetry', 'windows by rx-hpcc']],
    hpcc: ['hpcc', [], ['telemetry']],
    cubic: ['cubic', ['reports of CE marks'], ['telemetry']],
    'fixed-window': ['fixed-window', [], []],
  }
  for (const { name } of ADDED) t.ok(name in becomes, name)
  for (const [name, [controller, granted, refused]] of Object.entries(becomes)) {
    const pair = makePair({ a: chosen(name), b: { ...chosen('fixed-window'), recovery: 'goBackN' } })
    const { watch } = pair.tap
    pair.tap.watch = (frame, now, fromA) => {
      takeWordsOut(frame)
      return watch(frame, now, fromA)
    }
    const { left } = connected(pair)
    const { stats } = left.connection!
    t.match(stats, { controller, feedbackGranted: granted }, name)
    t.same(stats.feedbackRefused, refused, name)
    t.ok(moves(pair, left, 1), `${name}: data moves`)
    t.equal(pair.pool.inUse, 0)
  }
})

/** Writes BYTES from a to b. */
function moves(pair: Pair, left: App, id: number): boolean {
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const remote = { remoteAddress: there.address, rkey: there.key }
  const region = memoryOf(pair.a, Buffer.alloc(BYTES))
  const work = { id, opcode: WorkOpcode.RDMA_WRITE, region, offset: 0, length: BYTES, ...remote }
  left.connection!.postSend(pair.network.now, work)
  const done = pair.until(() => left.log.includes(`completion ${id} SUCCESS`))
  pair.settle()
  return done
}

t.test('controllers of papers: what another Weir host and a plain peer grant them', async t => {
  const becomes: Record<string, [granted: string[], plainController: string, plainRefused: string[]]> = {
    fncc: [['telemetry collected by ACKs'], 'hpcc', ['telemetry collected by ACKs']],
    dcqcn: [['reports of CE marks', 'CNPs each 50 us'], 'dcqcn', []],
    timely: [['time stamps'], 'timely', ['time stamps']],
    swift: [['time stamps', 'hop counts'], 'swift', ['time stamps', 'hop counts']],
    rttcc: [['answers to probes'], 'cubic', ['answers to probes']],
    rocc: [[], 'rocc', []],
  }
  for (const [name, [granted, plainController, plainRefused]] of Object.entries(becomes)) {
    for (const isPlain of [false, true]) {
      const pair = makePair({ a: chosen(name), b: chosen('fixed-window') })
      const { watch } = pair.tap
      pair.tap.watch = (frame, now, fromA) => {
        if (isPlain) takeWordsOut(frame)
        return watch(frame, now, fromA)
      }
      const { stats } = connected(pair).left.connection!
      const what = `${name} to a ${isPlain ? 'plain' : 'Weir'} peer`
      t.equal(stats.controller, isPlain ? plainController : name, what)
      t.same(stats.feedbackRefused, isPlain ? plainRefused : [], what)
      if (!isPlain) t.same(stats.feedbackGranted, granted, what)
    }
  }
})

t.test(
  'every field of a sample, in one run: bytes, times, hops of both ways, N, marks, and by what it came',
  async t => {
    greedyHeard.length = 0
    const network = NETWORK.replace('s1: {}', 's1: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 100%}}')
    const flows = 'traffic: [{from: h1, to: h3, size: 600KB, cc: greedy}, {from: h2, to: h3, size: 600KB}]'
    const result = new VirtualRun(parseScenario(`${network}cc: fixed-window\n${flows}`, 'x.yaml')).run()
    t.equal(result.flows[0]!.ackedBytes, 600_000)
    const acks = greedyHeard.filter(({ source }) => source === FeedbackSource.ACK)
    const notified = greedyHeard.filter(({ source }) => source === FeedbackSource.NOTIFY)
    const cnps = greedyHeard.filter(({ source }) => source === FeedbackSource.CNP)
    t.equal(acks.length + notified.length + cnps.length, greedyHeard.length)
    t.equal(
      acks.reduce((sum, { ackedBytes }) => sum + ackedBytes, 0),
      600_000,
      'acknowledgements acknowledge everything, once',
    )
    for (const { ackedBytes } of [...notified, ...cnps]) t.equal(ackedBytes, 0)
    t.equal(acks.at(-1)!.inFlightBytes, 0)
    t.ok(acks.some(({ inFlightBytes }) => inFlightBytes > 4096))
    const echoes = [...acks, ...notified]
    t.ok(
      echoes.some(({ ecnEcho }) => ecnEcho),
      'marks',
    )
    t.ok(
      echoes.some(({ ecnEcho }) => !ecnEcho),
      'and none',
    )
    t.ok(cnps.length > 0)
    t.ok(notified.length > 100)
    for (const { hops, flows, hopCount } of notified) {
      t.equal(hops.length, 2)
      t.equal(hopCount, 2)
      t.ok(flows >= 1 && flows <= 2)
    }
    for (const { now, reverse, hopCount, sentNs, rttNs, arrivedNs, turnaroundNs } of acks) {
      t.equal(reverse.length, 2)
      t.equal(hopCount, 2)
      if (rttNs === 0) continue
      t.equal(sentNs + rttNs, now)
      t.ok(sentNs < arrivedNs && turnaroundNs >= 0 && turnaroundNs < rttNs)
    }
  },
)

/** Makes an end of a connection break its word: what it says and does from then on. */
type Lie = (receiver: Receiver, pair: Pair) => void

/** What a receiver would say without its lies. */
const truths = new WeakMap<Receiver, Map<keyof Receiver, PropertyDescriptor>>()

const says =
  (name: keyof Receiver, value: unknown) =>
  (receiver: Receiver): void => {
    const own = Object.getOwnPropertyDescriptor(receiver, name)
    if (own !== undefined) truths.set(receiver, (truths.get(receiver) ?? new Map()).set(name, own))
    Object.defineProperty(receiver, name, { configurable: true, get: () => value })
  }

const swallows =
  (name: string): Lie =>
  (_receiver, pair) => {
    const { watch } = pair.tap
    pair.tap.watch = (frame, now, fromA) => (fromA || frameName(frame) !== name) && watch(frame, now, fromA)
  }

/** Arrivals without TTL. */
const hidesHops: Lie = receiver => {
  receiver.onArrived = (now, psn) => Receiver.prototype.onArrived.call(receiver, now, psn, 0)
}

const keepsNothing: Lie = receiver => {
  receiver.keep = () => {}
}

const speaksTrue =
  (name: keyof Receiver): Lie =>
  receiver => {
    Reflect.deleteProperty(receiver, name)
    const own = truths.get(receiver)?.get(name)
    if (own !== undefined) Object.defineProperty(receiver, name, own)
  }

const LIES: [what: string, name: string, lie: Lie, broken: string[], controller: string][] = [
  ['time stamps', 'stamps', says('stamps', false), ['time stamps', 'hop counts'], 'cubic'],
  ['hop counts', 'stamps', hidesHops, ['hop counts'], 'cubic'],
  ['telemetry', 'hpcc', keepsNothing, ['telemetry'], 'hpcc'],
  [
    'telemetry of the way back',
    'way-back',
    says('reverse', 'none'),
    ['telemetry of the way back'],
    'way-back',
  ],
  ['telemetry of the data', 'data-way', says('reverse', 'none'), ['telemetry collected by ACKs'], 'data-way'],
  ['answers to probes', 'probed', swallows('NOTIFY'), ['answers to probes'], 'fixed-window'],
  ['windows', 'given', says('receivingPart', -1), ['windows by given'], 'fixed-window'],
]

for (const [what, name, lie, broken, controller] of LIES) {
  t.test(
    `a peer grants ${what} and does not give them: they count as refused after some round trips`,
    async t => {
      const pair = makePair({ a: chosen(name), b: { ...chosen('fixed-window'), ackEveryPackets: 4 } })
      const { left } = connected(pair)
      const { stats } = left.connection!
      const granted = [...stats.feedbackGranted]
      lie(pair.b.table.flows.find(flow => flow !== null)!.receiver, pair)
      for (let id = 1; id <= 8; id++) t.ok(moves(pair, left, id), 'data moves')
      const texts = broken.map(text => `${text} (granted, and not given)`)
      for (const text of texts)
        t.ok(stats.feedbackRefused.includes(text), `${text}: ${stats.feedbackRefused}`)
      t.same(
        stats.feedbackRefused.filter(text => text.includes('not given')).length,
        broken.length,
        'and nothing else',
      )
      t.equal(stats.controller, controller)
      if (controller === name)
        t.same(
          stats.feedbackGranted,
          granted.filter(text => !broken.includes(text)),
        )
      else t.match(stats.controllerReason, new RegExp(`${name} would need .*${broken[0]}`))
      t.equal(pair.pool.inUse, 0)
    },
  )
}

/** A lie of the list above, and how it ends. */
const ENDING_LIES: [name: string, lie: Lie, end: Lie][] = [
  ['stamps', says('stamps', false), speaksTrue('stamps')],
  ['hpcc', keepsNothing, speaksTrue('keep')],
  ['way-back', says('reverse', 'none'), speaksTrue('reverse')],
  ['data-way', says('reverse', 'none'), speaksTrue('reverse')],
]

for (const [name, lie, end] of ENDING_LIES) {
  t.test(`a peer gives what ${name} needs again: it counts as granted, and ${name} returns`, async t => {
    const pair = makePair({ a: chosen(name), b: { ...chosen('fixed-window'), ackEveryPackets: 4 } })
    const { left } = connected(pair)
    const { stats } = left.connection!
    const granted = [...stats.feedbackGranted]
    const { receiver } = pair.b.table.flows.find(flow => flow !== null)!
    lie(receiver, pair)
    for (let id = 1; id <= 8; id++) t.ok(moves(pair, left, id), 'data moves')
    t.ok(stats.feedbackRefused.length > 0)
    end(receiver, pair)
    for (let id = 9; id <= 24; id++) t.ok(moves(pair, left, id), 'data moves')
    t.same(stats.feedbackRefused, [])
    t.same(stats.feedbackGranted, granted)
    t.match(stats, { controller: name, controllerReason: 'as configured' })
    t.equal(pair.pool.inUse, 0)
  })
}

t.test(
  'a peer that gives what it has granted is never taken for a liar, with losses and reordering',
  async t => {
    const random = new Random(seed)
    for (const name of ['stamps', 'hpcc', 'way-back', 'data-way', 'probed', 'given']) {
      const [ab, ba] = [0, 1].map(() => new LinkFaults({ loss: 0.03, reorder: 0.03 }, () => random.next()))
      const options = { a: chosen(name), b: { ...chosen('fixed-window'), ackEveryPackets: 4 } }
      const pair = makePair({ ...options, faults: { ab: ab!, ba: ba! } })
      const { left } = connected(pair)
      for (let id = 1; id <= 4; id++) t.ok(moves(pair, left, id), `${name}: data moves`)
      t.same(left.connection!.stats.feedbackRefused, [], name)
      t.equal(left.connection!.stats.controller, name)
    }
  },
)

t.test('a peer gives what nobody has asked for: it is dropped, counted, or has no effect', async t => {
  const stamping = makePair({ a: chosen('fixed-window'), b: chosen('fixed-window') })
  const { left } = connected(stamping)
  const { receiver } = stamping.b.table.flows.find(flow => flow !== null)!
  says('stamps', true)(receiver)
  moves(stamping, left, 1)
  t.ok(stamping.a.counters.rx.unknownOpcode > 0, 'time stamps: such acknowledgements are none')
  t.equal(left.error?.code, 'WEIR_CONNECTION_LOST')
  t.equal(stamping.pool.inUse, 0)

  const collecting = makePair({ a: chosen('marked'), b: chosen('fixed-window') })
  const ends = connected(collecting)
  const other = collecting.b.table.flows.find(flow => flow !== null)!
  says('reverse', 'own-way')(other.receiver)
  cnpsHeard.length = 0
  t.ok(moves(collecting, ends.left, 1), 'telemetry of the way back: ignored')
  t.equal(ends.left.connection!.stats.pathHops, 0)
  t.equal(ends.left.error, null)
})

t.test('names and numbers are theirs alone', async t => {
  const bad = { code: 'WEIR_BAD_ARGUMENT' }
  t.throws(() => addController(STAMPS), { ...bad, message: /stamps.*already/ })
  t.throws(() => addController({ ...GIVEN, name: 'other' }), { ...bad, message: /number 5/ })
  const part = { ...GIVEN.receivingPart!, number: 19 }
  t.throws(() => addController({ ...GIVEN, name: 'other', receivingPart: part }), {
    ...bad,
    message: /0 to 18/,
  })
  t.throws(() => addController({ ...STAMPS, name: 'other', otherwise: 'none' }), { ...bad, message: /none/ })
  t.equal(
    createCongestionControl('stamps', { lineRateBps: 1e9, baseRttNs: 1e6, mtuBytes: 1024 }).name,
    'stamps',
  )
})
