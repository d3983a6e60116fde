import { isDeepStrictEqual } from 'node:util'
import { type Scenario, type ScenarioFlow, withSeed } from '../../lib/scenario/model/scenario.js'
import {
  meanSize,
  parseDistribution,
  publishedWorkload,
  type SizeDistribution,
  sizeAt,
  WORKLOAD_NAMES,
} from '../../lib/scenario/model/size-distribution.js'
import { expandTraffic } from '../../lib/scenario/read/expand-traffic.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { long, usual } from '../support/long.js'
import { fixedSeed } from '../support/seeds.js'

/** Mean as the integral of 1 - F(x), summed over the points, which `meanSize` computes in another way. */
function meanByTail({ sizesBytes, cumulative }: SizeDistribution): number {
  let mean = sizesBytes[0]!
  for (let i = 1; i < sizesBytes.length; i++) {
    mean += (sizesBytes[i]! - sizesBytes[i - 1]!) * (1 - (cumulative[i]! + cumulative[i - 1]!) / 2)
  }
  return mean
}

usual('mean sizes of the published workloads', async t => {
  const published = { websearch: 1.71e6, fbhadoop: 120e3, alistorage: 40.9e3, googlerpc: 2.9e3 }
  for (const name of WORKLOAD_NAMES) {
    const distribution = publishedWorkload(name)
    const mean = meanSize(distribution)
    t.ok(Math.abs(mean / published[name] - 1) < 0.02, `${name}: ${mean} is about ${published[name]}`)
    t.ok(Math.abs(mean / meanByTail(distribution) - 1) < 1e-9, `${name}: two ways to the mean`)
    t.equal(distribution.name, name)
  }
})

usual('sizes are linear between the points', async t => {
  const distribution = parseDistribution('0 0\n100 50\n300 50\n500 100\n', 'd.txt')
  for (const [p, size] of [
    [0, 0],
    [0.25, 50],
    [0.5, 100],
    [0.75, 400],
    [1, 500],
  ] as const) {
    t.equal(sizeAt(distribution, p), size, `at ${p}`)
  }
  const websearch = publishedWorkload('websearch')
  t.equal(Math.round(sizeAt(websearch, 0.6)), 200_000)
  t.equal(Math.round(sizeAt(websearch, 0.65)), 600_000)
})

usual('a malformed distribution is refused with its line', async t => {
  for (const [text, message] of [
    ['0 0\n5 x\n', /d\.txt:2:1: '5 x'/],
    ['0 5\n5 100\n', /d\.txt:1:1: .*0 percent/],
    ['0 0\n5 60\n4 100\n', /d\.txt:3:1: .*rise/],
    ['0 0\n5 60\n6 50\n', /d\.txt:3:1: .*rise/],
    ['0 0\n5 160\n', /d\.txt:2:1/],
    ['0 0\n5 60\n', /d\.txt:2:1: .*100 percent/],
    ['', /100 percent/],
  ] as const) {
    t.throws(() => parseDistribution(text, 'd.txt'), { code: 'WEIR_BAD_SCENARIO', message })
  }
})

function scenarioOf(traffic: string, links = ''): Scenario {
  return parseScenario(
    `link: {rate: 100Gbps, delay: 1us}
hosts: [h0..h15]
switches: [s1]
links: [h0..h14--s1, {ends: h15--s1${links}}]
traffic: ${traffic}
`,
    'x.yaml',
  )
}

const bytesOf = (flows: readonly ScenarioFlow[]) => flows.reduce((sum, flow) => sum + flow.bytes, 0)

usual('arrivals come at the load asked for, each host as sender, all others as receivers', async t => {
  const seed = fixedSeed(t, 5)
  const durationNs = 300e6
  const scenario = scenarioOf('[{workload: fbhadoop, load: 0.3, duration: 300ms}]')
  const flows = expandTraffic(withSeed(scenario, seed))
  // 16 hosts x 100 Gbit/s x 0.3 x 0.3 s / 8 / 120 KB = 150,000 flows. Standard error of the count 0.26 %.
  const expected = (16 * 100e9 * 0.3 * 0.3) / 8 / meanByTail(scenario.workloads[0]!.distribution)
  t.ok(
    Math.abs(flows.length / expected - 1) < 0.015,
    `${flows.length} flows of about ${Math.round(expected)}`,
  )
  const load = (bytesOf(flows) * 8e9) / durationNs / (16 * 100e9)
  t.ok(Math.abs(load / 0.3 - 1) < 0.06, `load ${load}`)
  const pairs = new Map<string, number>()
  let outside = 0
  for (const { from, to, startNs, bytes } of flows) {
    pairs.set(`${from}>${to}`, (pairs.get(`${from}>${to}`) ?? 0) + 1)
    const fine = from !== to && startNs >= 0 && startNs < durationNs && Number.isInteger(startNs)
    if (!fine || !Number.isInteger(bytes) || bytes < 1 || bytes > 10e6) outside++
  }
  t.equal(outside, 0)
  t.equal(pairs.size, 16 * 15)
  const perPair = flows.length / 240
  const extremes = [...pairs.values()].filter(n => Math.abs(n - perPair) > 6 * Math.sqrt(perPair))
  t.equal(extremes.length, 0, 'no pair is favoured')
  // Poisson: the gaps of one host have a standard deviation equal to their mean.
  const starts = flows.filter(flow => flow.from === 'h7').map(flow => flow.startNs)
  const gaps = starts.slice(1).map((at, i) => at - starts[i]!)
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length)
  t.ok(Math.abs(deviation / mean - 1) < 0.06, `coefficient of variation ${deviation / mean}`)
  // Shares of the distribution: half of its flows are at most 700 B, 90 % at most 120 KB.
  const share = (size: number) => flows.filter(flow => flow.bytes <= size).length / flows.length
  t.ok(Math.abs(share(700) - 0.5) < 0.01 && Math.abs(share(120_000) - 0.9) < 0.01)
})

long('a host on a slower link sends in proportion', async t => {
  const scenario = scenarioOf('[{workload: googlerpc, load: 0.2, duration: 20ms}]', ', rate: 10Gbps')
  const flows = expandTraffic(scenario)
  const slow = flows.filter(flow => flow.from === 'h15').length
  const others = (flows.length - slow) / 15
  t.ok(Math.abs((others / slow) * 0.1 - 1) < 0.1, `${slow} against ${others}`)
})

usual('the same seed gives the same flows; the seed asked for overrides those of the file', async t => {
  const make = (extra: string) => scenarioOf(`[{workload: fbhadoop, load: 0.3, duration: 1ms${extra}}]`)
  const plain = make('')
  const pinned = make(', seed: 7')
  // tap's own comparison takes seconds for so many.
  const same = (a: readonly ScenarioFlow[], b: readonly ScenarioFlow[], what: string) =>
    t.ok(isDeepStrictEqual(a, b), what)
  same(expandTraffic(plain), expandTraffic(make('')), 'the same')
  same(expandTraffic(withSeed(plain, 1)), expandTraffic(plain), 'the default seed is 1')
  same(expandTraffic(pinned), expandTraffic(withSeed(plain, 7)), "a workload's own seed")
  same(expandTraffic(withSeed(pinned, 8)), expandTraffic(withSeed(plain, 8)), 'the seed asked for')
  t.notOk(
    isDeepStrictEqual(expandTraffic(withSeed(plain, 7)), expandTraffic(withSeed(plain, 8))),
    'another seed, other flows',
  )
  const more = scenarioOf(
    '[{workload: fbhadoop, load: 0.3, duration: 1ms}, {workload: websearch, load: 0.1, duration: 1ms}]',
  )
  const first = expandTraffic(more).filter(flow => flow.name.startsWith('fbhadoop'))
  same(first, expandTraffic(plain), 'a second workload leaves the first as it was')
})

usual('listed flows and workloads together: by start, names unique, settings carried over', async t => {
  const scenario = scenarioOf(`
  - {name: late, from: h0, to: h1, size: 1KB, start: 50us}
  - {name: early, from: h0, to: h1, size: 1KB}
  - {name: also, from: h2, to: h1, size: 1KB}
  - {name: mix, workload: googlerpc, load: 5%, start: 10us, duration: 100us, hosts: [h2..h5], priority: 1, cc: fixed-window}`)
  const flows = expandTraffic(scenario)
  t.strictSame(
    flows.map(flow => flow.startNs),
    flows.map(flow => flow.startNs).sort((a, b) => a - b),
  )
  t.strictSame(
    flows.slice(0, 2).map(flow => flow.name),
    ['early', 'also'],
    'equal starts keep the order of the file',
  )
  t.equal(new Set(flows.map(flow => flow.name)).size, flows.length)
  const drawn = flows.filter(flow => flow.name.startsWith('mix.'))
  t.equal(drawn.length, flows.length - 3)
  t.ok(drawn.length > 10)
  const hosts = ['h2', 'h3', 'h4', 'h5']
  for (const flow of drawn) {
    const fine =
      hosts.includes(flow.from) && hosts.includes(flow.to) && flow.startNs >= 10_000 && flow.startNs < 110_000
    if (!fine || flow.priority !== 1 || flow.cc?.name !== 'fixed-window') t.fail(JSON.stringify(flow))
  }
  t.strictSame(
    scenario.flows.map(flow => flow.name),
    ['late', 'early', 'also'],
    'the scenario itself stays as it was',
  )
})

usual('a workload beyond a million flows is refused', async t => {
  t.throws(() => scenarioOf('[{name: flood, workload: googlerpc, load: 100%, duration: 1h}]'), {
    code: 'WEIR_BAD_SCENARIO',
    message: /^x\.yaml:\d+:\d+: .*flood.*1000000.*load or duration/,
  })
  const half = '{workload: googlerpc, load: 10%, duration: 14ms}'
  t.ok(scenarioOf(`[${half}]`))
  t.throws(
    () => scenarioOf(`[${new Array(60).fill(half).join()}]`),
    { message: /^x\.yaml:\d+:\d+: h0 would send and receive more than 60000 flows/ },
    'together',
  )
})
