import t from 'tap'
import { DEFAULT_PATHS } from '../../lib/cc/path-settings.js'
import { DEFAULT_TELEMETRY } from '../../lib/cc/telemetry-settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { CcCatalogue } from '../../lib/scenario/read/resolve-cc.js'

/** A catalogue of its own, so that these tests do not depend on the controllers. */
const catalogue: CcCatalogue = {
  ccNames: () => ['hpcc', 'steady'],
  ccOptions: name =>
    name === 'steady'
      ? [{ name: 'window', kind: 'bytes', min: 256, max: 1e9, default: null, doc: '' }]
      : [
          { name: 'eta', kind: 'number', min: 0.1, max: 1, default: 0.95, doc: '' },
          { name: 'maxStage', kind: 'count', min: 0, max: 100, default: 5, doc: '' },
          { name: 'wAi', kind: 'bytes', min: 0, max: 1e6, default: null, doc: '' },
          { name: 'minRate', kind: 'rate', min: 1, max: 1e12, default: null, doc: '' },
          { name: 'hold', kind: 'time', min: 0, max: 1e6, default: 0, doc: '' },
          { name: 'fast', kind: 'flag', default: false, doc: '' },
        ],
  ccBounds: () => [],
}

const parse = (text: string) => parseScenario(text, 'a/demo.yaml', { catalogue })

t.test('the example of the format: everything resolved to plain numbers', async t => {
  const text = `
name: dumbbell
link: {rate: 1Gbps, delay: 50us}            # defaults, overridden per link
hosts: [h1, h2, h3]
switches:
  s1: {buffer: 4MB, ecn: {kmin: 100KB, kmax: 400KB, pmax: 0.2}, pfc: {xoff: 500KB}}
  s2: {}
links: [h1--s1, h2--s1, {ends: s1--s2, delay: 100us}, s2--h3]
cc: {name: hpcc, eta: 0.95}
traffic:
  - {name: flow0, from: h1, to: h3, size: 200MB}
  - {name: flow1, from: h2, to: h3, size: 200MB, start: 300ms}
  - {workload: websearch, load: 0.5, seed: 7, duration: 10ms}
watch: {queues: [s1:s2], every: 100us}
`
  const scenario = parse(text)
  const { workloads, ...rest } = scenario
  t.strictSame(rest, {
    name: 'dumbbell',
    file: 'a/demo.yaml',
    text,
    hosts: [
      { name: 'h1', address: '10.0.0.1' },
      { name: 'h2', address: '10.0.0.2' },
      { name: 'h3', address: '10.0.0.3' },
    ],
    switches: [
      {
        name: 's1',
        id: 1,
        bufferBytes: 4_000_000,
        ecn: [
          {
            kminBytes: 100_000,
            kmaxBytes: 400_000,
            pmax: 0.2,
            at: 'enqueue',
            priorities: [0, 1, 2, 3, 4, 5, 6, 7],
          },
        ],
        pfc: {
          xoffBytes: 500_000,
          reservedBytes: 0,
          quanta: 65_535,
          priorities: [3],
          xonBytes: 400_000,
        },
      },
      { name: 's2', id: 2, bufferBytes: 32_000_000 },
    ],
    links: [
      { a: { node: 'h1', port: 0 }, b: { node: 's1', port: 0 }, rateBps: 1e9, delayNs: 50_000 },
      { a: { node: 'h2', port: 0 }, b: { node: 's1', port: 1 }, rateBps: 1e9, delayNs: 50_000 },
      { a: { node: 's1', port: 2 }, b: { node: 's2', port: 0 }, rateBps: 1e9, delayNs: 100_000 },
      { a: { node: 's2', port: 1 }, b: { node: 'h3', port: 0 }, rateBps: 1e9, delayNs: 50_000 },
    ],
    cc: { name: 'hpcc', options: { eta: 0.95 } },
    transport: {
      pathMtu: 1024,
      ackEvery: 1,
      retryCount: 7,
      rnrRetryCount: 7,
      ackTimeoutNs: 0,
      recovery: 'selective',
      start: 'line-rate',
      untaggedCnps: 0,
    },
    int: { format: 'wide', hops: 2 },
    telemetry: { ...DEFAULT_TELEMETRY, hostHop: false },
    paths: DEFAULT_PATHS,
    baseRttNs: 'measured',
    flows: [
      { name: 'flow0', from: 'h1', to: 'h3', bytes: 200_000_000, startNs: 0, priority: 3 },
      { name: 'flow1', from: 'h2', to: 'h3', bytes: 200_000_000, startNs: 300_000_000, priority: 3 },
    ],
    watch: { queues: [{ switch: 's1', port: 2 }], everyNs: 100_000, flows: true },
    seed: 1,
    hashSeed: 1,
  })
  t.equal(workloads.length, 1)
  t.match(workloads[0], { load: 0.5, seed: 7, startNs: 0, durationNs: 10_000_000, hosts: ['h1', 'h2', 'h3'] })
})

t.test('the least there can be: defaults hold', async t => {
  const scenario = parse('hosts: [a, b]\nlinks: [a--b]\n')
  t.equal(scenario.name, 'demo', 'named after its file')
  t.strictSame(scenario.switches, [])
  t.match(scenario.links, [{ rateBps: 1e9, delayNs: 10_000 }])
  t.strictSame(scenario.cc, { name: 'hpcc', options: {} })
  t.strictSame(scenario.watch, { queues: [], everyNs: 100_000, flows: false })
  t.strictSame([scenario.flows, scenario.workloads], [[], []])
  t.equal(scenario.durationNs, undefined)
})

t.test('ranges of hosts and links; ports count per node in the order of links', async t => {
  const scenario = parse(`
hosts: [h0..h3, {name: x, address: 10.0.0.2}, r08..r10]
switches: {leaf1..leaf2: {buffer: 1MB}, spine: {id: 1}}
links: [h0..h3--leaf1, r08..r10--leaf2, x--leaf2, leaf1..leaf2--spine]
`)
  t.strictSame(
    scenario.hosts.map(h => `${h.name} ${h.address}`),
    [
      'h0 10.0.0.1',
      'h1 10.0.0.3',
      'h2 10.0.0.4',
      'h3 10.0.0.5',
      'x 10.0.0.2',
      'r08 10.0.0.6',
      'r09 10.0.0.7',
      'r10 10.0.0.8',
    ],
    'defaults pass over a given address',
  )
  t.strictSame(
    scenario.switches.map(s => [s.name, s.id, s.bufferBytes]),
    [
      ['leaf1', 2, 1e6],
      ['leaf2', 3, 1e6],
      ['spine', 1, 32e6],
    ],
    'ids pass over a given one',
  )
  t.strictSame(
    scenario.links.map(l => `${l.a.node}.${l.a.port}-${l.b.node}.${l.b.port}`),
    [
      'h0.0-leaf1.0',
      'h1.0-leaf1.1',
      'h2.0-leaf1.2',
      'h3.0-leaf1.3',
      'r08.0-leaf2.0',
      'r09.0-leaf2.1',
      'r10.0-leaf2.2',
      'x.0-leaf2.3',
      'leaf1.4-spine.0',
      'leaf2.4-spine.1',
    ],
  )
})

t.test('parallel links, and the names of their ports', async t => {
  const scenario = parse(`
hosts: [a, b]
switches: [s1, s2]
links: [a--s1, {ends: s1--s2, count: 2, rate: 10Gbps}, s2--b]
watch: {queues: [s1:s2, 's2:s1#1', s2:0, s2:2]}
`)
  t.strictSame(
    scenario.links.slice(1, 3).map(l => [l.a.port, l.b.port, l.rateBps]),
    [
      [1, 0, 1e10],
      [2, 1, 1e10],
    ],
  )
  t.strictSame(scenario.watch.queues, [
    { switch: 's1', port: 1 },
    { switch: 's1', port: 2 },
    { switch: 's2', port: 1 },
    { switch: 's2', port: 0 },
    { switch: 's2', port: 2 },
  ])
})

const NET = 'hosts: [h0..h4]\nswitches: [s1]\nlinks: [h0..h4--s1]\n'

t.test('incast, count, repeat and flows of their own controller', async t => {
  const { flows } = parse(`${NET}
traffic:
  - {incast: [h0..h1, h3], to: h4, size: 500KB, start: 1us}
  - {name: pair, from: h0, to: h1, size: 1B, count: 2, sourcePort: 0xffff}
  - {name: tick, from: h2, to: h1, size: 1KiB, repeat: 3, every: 10us, start: 5us, priority: 0, cc: steady}
  - {from: h3, to: h1, size: 2GiB, cc: {name: steady, window: 64KB}}
`)
  t.strictSame(
    flows.map(f => `${f.name} ${f.from}>${f.to} ${f.bytes} @${f.startNs} p${f.priority}`),
    [
      'incast0.h0 h0>h4 500000 @1000 p3',
      'incast0.h1 h1>h4 500000 @1000 p3',
      'incast0.h3 h3>h4 500000 @1000 p3',
      'pair.0 h0>h1 1 @0 p3',
      'pair.1 h0>h1 1 @0 p3',
      'tick#0 h2>h1 1024 @5000 p0',
      'tick#1 h2>h1 1024 @15000 p0',
      'tick#2 h2>h1 1024 @25000 p0',
      'flow3 h3>h1 2147483648 @0 p3',
    ],
  )
  t.strictSame([flows[3]!.sourcePort, flows[4]!.sourcePort], [0xffff, 0xc000], 'parallel flows: other ports')
  t.strictSame(flows[5]!.cc, { name: 'steady', options: {} })
  t.strictSame(flows[8]!.cc, { name: 'steady', options: { window: 64_000 } })
})

t.test('settings and options with units', async t => {
  const scenario = parse(`${NET}
cc: {name: hpcc, maxStage: 0, wAi: 52B, minRate: 1Gbps, hold: 1.5us, fast: true}
transport: {pathMtu: 4096, ackEvery: 16, retryCount: 3, rnrRetryCount: 0, ackTimeout: 10ms, recovery: goBackN, start: careful}
int: {format: compact, hops: 5}
baseRtt: 8.32us
duration: 10ms
seed: 99
watch: {queues: all, every: 500ns, flows: false}
`)
  t.strictSame(scenario.cc.options, { maxStage: 0, wAi: 52, minRate: 1e9, hold: 1500, fast: true })
  t.strictSame(scenario.transport, {
    pathMtu: 4096,
    ackEvery: 16,
    retryCount: 3,
    rnrRetryCount: 0,
    ackTimeoutNs: 10_000_000,
    recovery: 'goBackN',
    start: 'careful',
    untaggedCnps: 0,
  })
  t.strictSame(scenario.int, { format: 'compact', hops: 5 })
  t.strictSame([scenario.baseRttNs, scenario.durationNs, scenario.seed], [8320, 10_000_000, 99])
  t.equal(scenario.watch.queues.length, 5)
  t.strictSame([scenario.watch.everyNs, scenario.watch.flows], [500, false])
})

t.test('YAML anchors and merges work', async t => {
  const scenario = parse(`hosts: [a, b]
switches:
  s1: &plain {buffer: 2MB}
  s2: *plain
links: [a--s1, s1--s2, s2--b]
`)
  t.strictSame(
    scenario.switches.map(s => s.bufferBytes),
    [2e6, 2e6],
  )
})

t.test('slots of the telemetry follow the longest path of the traffic', async t => {
  const net = 'hosts: [a, b, c]\nswitches: [s1, s2, s3]\nlinks: [a--s1, b--s1, s1--s2, s2--s3, s3--c]\n'
  t.equal(parse(`${net}traffic: [{from: a, to: b, size: 1KB}]`).int.hops, 1)
  t.equal(parse(`${net}traffic: [{from: a, to: b, size: 1KB}, {from: c, to: b, size: 1KB}]`).int.hops, 3)
  t.equal(parse(`${net}traffic: [{workload: fbhadoop, load: 10%, duration: 1us}]`).int.hops, 3)
  t.equal(parse(net).int.hops, 3, 'in a lab without traffic any host may send to any other')
})
