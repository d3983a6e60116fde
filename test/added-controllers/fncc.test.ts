/**
 * What FNCC needs of hosts and network, seen by controllers that listen: N of the receiver, and acknowledgements on the way of the data
 * (section 3.1: symmetric ECMP, spanning trees). In virtual time.
 */
import t from 'tap'
import { addController } from '../../lib/cc/catalogue.js'
import { DATA_WAY, dataWayHeard, WAY_BACK, wayBackHeard } from './throw-away.js'

for (const entry of [DATA_WAY, WAY_BACK]) addController(entry)

const { parseScenario } = await import('../../lib/scenario/read/load-scenario.js')
const { VirtualRun } = await import('../../switch-emu/virtual/virtual-run.js')

/** Round trip of data that is alone: 3 links of 1 us, and its packets. */
const T_NS = 6500
/** More than the time between two acknowledgements. */
const NEXT_NS = 500

t.test('N is right within a round trip after flows start, and after they stop', async t => {
  const starts = [0, 100_000, 120_000, 300_000]
  const sizes = ['3MB', '400KB', '800KB', '400KB']
  const file = `
hosts: [h1..h4, r]
switches: [s1, s2]
link: {rate: 100Gbps, delay: 1us}
links: [h1..h4--s1, {ends: s1--s2, rate: 400Gbps}, {ends: s2--r, rate: 400Gbps}]
cc: data-way
baseRtt: ${T_NS}ns
traffic: [${starts.map((at, i) => `{name: f${i}, from: h${i + 1}, to: r, size: ${sizes[i]}, start: ${at}ns}`).join(', ')}]
`
  dataWayHeard.length = 0
  const { flows } = new VirtualRun(parseScenario(file, 'x.yaml')).run()
  const changes: [number, number][] = []
  for (const { startNs, fctNs } of flows) changes.push([startNs, 1], [startNs + fctNs!, -1])
  changes.sort(([a], [b]) => a - b)
  // The last acknowledgement ends the last flow. The traffic begins some time after the network does.
  const beginNs = dataWayHeard.at(-1)!.now - changes.at(-1)![0]
  let checked = 0
  let wrong = ''
  for (const { now, flows: n, rttNs } of dataWayHeard) {
    const past = changes.filter(([at]) => beginNs + at <= now)
    const isSettled = past.length > 0 && now - (beginNs + past.at(-1)![0]) > Math.max(T_NS, rttNs) + NEXT_NS
    if (!isSettled) continue
    checked++
    const expected = past.reduce((sum, [, by]) => sum + by, 0)
    if (n !== expected) wrong ||= `${now} ns: N is ${n}, ${expected} flows`
  }
  t.ok(checked > 500, `${checked} acknowledgements`)
  t.same([...new Set(dataWayHeard.map(heard => heard.flows))].sort(), [1, 2, 3])
  t.equal(wrong, '')
})

for (const [name, trees] of [
  ['symmetric ECMP', ''],
  ['three spanning trees', 'spanningTrees: 3'],
] as const) {
  t.test(`${name}: acknowledgements take the way of the data, and there are several ways`, async t => {
    const hosts = ['a', 'b', 'c'].flatMap(rack => [1, 2, 3, 4].map(i => `${rack}${i}`))
    const links = ['a', 'b', 'c'].flatMap(rack => [
      `${rack}1..${rack}4--t${rack}`,
      `t${rack}--u1`,
      `t${rack}--u2`,
      `t${rack}--u3`,
    ])
    const traffic = hosts.map(
      (from, i) => `{from: ${from}, to: ${hosts[(i + 5) % hosts.length]}, size: 40KB, start: ${i}us}`,
    )
    const file = `
hosts: [${hosts.join(', ')}]
switches: [ta, tb, tc, u1, u2, u3]
link: {rate: 100Gbps, delay: 1us}
links: [${links.join(', ')}]
${trees}
cc: way-back
traffic: [${traffic.join(', ')}]
`
    wayBackHeard.length = 0
    const { flows } = new VirtualRun(parseScenario(file, 'x.yaml')).run()
    t.ok(flows.every(({ fctNs }) => fctNs !== null))
    const ways = (of: 'hops' | 'reverse') =>
      new Set(wayBackHeard.filter(heard => heard[of].length > 0).map(heard => heard[of].join(' ')))
    const there = ways('hops')
    const back = new Set([...ways('reverse')].map(way => way.split(' ').reverse().join(' ')))
    t.same([...back].sort(), [...there].sort())
    t.ok(new Set([...there].map(way => way.split(' ')[1])).size > 1, [...there].join(', '))
  })
}
