import t from 'tap'
import { baseRttNs, idealFctNs, portName, slowdown, Topology } from '../../lib/scenario/model/topology.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { portNames, portsOf } from '../../lib/scenario/read/ports.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'
import { fixedSeed } from '../support/seeds.js'

const seed = fixedSeed(t, 11)

/** Fat-tree of k=4: 16 hosts, 8 edge, 8 aggregation and 4 core switches. */
function fatTree(): string {
  const links: string[] = []
  for (let pod = 0; pod < 4; pod++) {
    for (let i = 0; i < 2; i++) {
      const edge = `e${pod * 2 + i}`
      for (let h = 0; h < 2; h++) links.push(`h${pod * 4 + i * 2 + h}--${edge}`)
      for (let j = 0; j < 2; j++) links.push(`${edge}--a${pod * 2 + j}`)
    }
  }
  for (let a = 0; a < 8; a++) {
    for (let j = 0; j < 2; j++) links.push(`a${a}--c${(a % 2) * 2 + j}`)
  }
  return `link: {rate: 100Gbps, delay: 1us}
hosts: [h0..h15]
switches: [e0..e7, a0..a7, c0..c3]
links: [${links.join(', ')}]
traffic: [{from: h0, to: h15, size: 1MB}]
`
}

usual(
  'base RTT: propagation twice and one payload at each hop, as the reference simulation gives it',
  async t => {
    const rtt = (text: string) => {
      const scenario = parseScenario(text, 'x.yaml')
      const { from, to } = scenario.flows[0]!
      return baseRttNs(new Topology(scenario).paths(from, to)[0]!, 1000)
    }
    const dumbbell = (delay: string) => `link: {rate: 100Gbps, delay: ${delay}}
hosts: [a, b]
switches: [s1, s2, s3]
links: [a--s1, s1--s2, s2--s3, s3--b]
traffic: [{from: a, to: b, size: 1B}]
`
    t.equal(rtt(dumbbell('1us')), 8320)
    t.equal(rtt(dumbbell('1.5us')), 12_320)
    t.equal(rtt(fatTree()), 12_480)
    const star = 'link: {rate: 100Gbps, delay: 1us}\nhosts: [a, b]\nswitches: [s]\nlinks: [a--s, b--s]\n'
    t.equal(rtt(`${star}traffic: [{from: a, to: b, size: 1B}]`), 4160)
  },
)

usual('shortest paths: all of a fat-tree, ports ascending, hosts never in between', async t => {
  const scenario = parseScenario(fatTree(), 'x.yaml')
  const topology = new Topology(scenario)
  t.equal(topology.paths('h0', 'h1').length, 1)
  t.equal(topology.paths('h0', 'h2').length, 2, 'within a pod: two aggregation switches')
  const across = topology.paths('h0', 'h15')
  t.strictSame(
    across.map(path => path.map(hop => hop.peer).join(' ')),
    ['e0 a0 c0 a6 e7 h15', 'e0 a0 c1 a6 e7 h15', 'e0 a1 c2 a7 e7 h15', 'e0 a1 c3 a7 e7 h15'],
  )
  t.strictSame(firstPorts(topology, 'e0', 'h15'), [2, 3])
  t.strictSame(firstPorts(topology, 'a6', 'h15'), [1])
  t.equal(topology.distance('h0', 'h15'), 6)
  t.equal(topology.paths('h0', 'h0').length, 0)
  t.equal(topology.paths('h0', 'nobody').length, 0)
  t.strictSame(topology.ports('nobody'), [])
  for (const hop of across[0]!) {
    const back = topology.ports(hop.peer)[hop.peerPort]
    t.match(back, { peer: hop.node, peerPort: hop.port }, 'a link has the same two ends from both sides')
  }
  t.equal(scenario.int.hops, 5)
})

usual('equal-cost paths beyond count are cut, not enumerated for ever', async t => {
  const layers = Array.from({ length: 6 }, (_, i) => `l${i}x0..l${i}x3`)
  const links = layers.slice(1).map((layer, i) => `${layers[i]}--${layer}`)
  const scenario = parseScenario(
    `hosts: [a, b]\nswitches: [in, out, ${layers.join(', ')}]\nlinks: [a--in, in--${layers[0]}, ${links.join(', ')}, ${layers[5]}--out, out--b]\n`,
    'x.yaml',
  )
  t.equal(new Topology(scenario).paths('a', 'b').length, 64, 'of 4^6')
})

usual('names of ports', async t => {
  const scenario = parseScenario(
    'hosts: [a, b]\nswitches: [s1, s2]\nlinks: [a--s1, {ends: s1--s2, count: 2}, s2--b]',
    'x.yaml',
  )
  const topology = new Topology(scenario)
  t.strictSame(
    [0, 1, 2, 3].map(port => portName(topology, 's1', port)),
    ['s1:a', 's1:s2#0', 's1:s2#1', 's1:3'],
  )
})

/** Hand calculations: 58 B of headers, 16 B of RETH in the first packet, 62 B for an ACK, no INT. */
usual('ideal FCT of small flows by hand', async t => {
  const ideal = (size: string, links: string, extra = '') => {
    const text = `hosts: [a, b]\nswitches: [s]\nlinks: ${links}\ncc: fixed-window\n${extra}traffic: [{from: a, to: b, size: ${size}}]\n`
    const scenario = parseScenario(text, 'x.yaml')
    return idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!)
  }
  const equal = '[{ends: a--s, rate: 1Gbps, delay: 1us}, {ends: s--b, rate: 1Gbps, delay: 1us}]'
  // One packet of 1000 + 58 + 16 = 1074 B takes 8592 ns on each link; the ACK of 62 B 496 ns; 4 us on the way.
  t.equal(ideal('1000B', equal), 2 * 8592 + 2 * 496 + 4000)
  // One byte is padded to four: 78 B, 624 ns.
  t.equal(ideal('1B', equal), 2 * 624 + 2 * 496 + 4000)
  // Two packets, 1024 and 976: 1098 B = 8784 ns, then 1034 B = 8272 ns right behind it on both links.
  t.equal(ideal('2000B', equal), 8784 + 8784 + 8272 + 2 * 496 + 4000)
  // Three full packets and an equal last one: the second link is four times slower and holds all but the first hop.
  const slow = '[{ends: a--s, rate: 4Gbps, delay: 0us}, {ends: s--b, rate: 1Gbps, delay: 0us}]'
  t.equal(ideal('4096B', slow), 2196 + (8784 + 3 * 8656) + (124 + 496))
  // The other way round: the slow link first, then the last packet alone on the fast one.
  const fast = '[{ends: a--s, rate: 1Gbps, delay: 0us}, {ends: s--b, rate: 4Gbps, delay: 0us}]'
  t.equal(ideal('4096B', fast), 8784 + 3 * 8656 + 2164 + (496 + 124))
  t.equal(ideal('4096B', equal, 'transport: {pathMtu: 4096}\n'), 2 * (4096 + 74) * 8 + 2 * 496 + 4000)
})

usual('the INT shim counts for controllers that ask for telemetry', async t => {
  const ideal = (cc: string, int: string) => {
    const text = `hosts: [a, b]\nswitches: [s]\nlink: {rate: 1Gbps, delay: 0us}\nlinks: [a--s, b--s]\ncc: ${cc}\n${cc!.includes('fixed-window') ? '' : `int: ${int}\n`}traffic: [{from: a, to: b, size: 1000B}]\n`
    const scenario = parseScenario(text, 'x.yaml')
    return idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!)
  }
  const without = ideal('fixed-window', '{format: wide}')
  // Data carries every slot, the echo only the one that the switch filled. Two links each, 8 ns a byte.
  t.equal(ideal('hpcc', '{format: wide, hops: 3}') - without, 2 * 8 * (8 + 3 * 24 + 8 + 24))
  t.equal(ideal('hpcc', '{format: compact, hops: 3}') - without, 2 * 8 * (8 + 3 * 8 + 8 + 8))
})

usual('a lone flow in virtual time takes its ideal time, but for rounding to whole nanoseconds', async t => {
  for (const [cc, size, int = '{format: wide}'] of [
    ['{name: fixed-window, window: 10MB}', '1B'],
    ['{name: fixed-window, window: 10MB}', '10KB'],
    ['{name: fixed-window, window: 10MB}', '300KB'],
    ['hpcc', '1B'],
    ['hpcc', '10KB'],
    ['hpcc', '1KB', '{format: compact, hops: 15}'],
    ['hpcc', '1KB', '{format: wide, hops: 2}'],
  ]) {
    const text = `link: {rate: 100Gbps, delay: 1us}\nhosts: [a, b]\nswitches: [s1, s2, s3]\nlinks: [a--s1, {ends: s1--s2, rate: 40Gbps}, s2--s3, s3--b]\ncc: ${cc}\nbaseRtt: 8.32us\n${cc!.includes('fixed-window') ? '' : `int: ${int}\n`}traffic: [{from: a, to: b, size: ${size}}]\n`
    const scenario = parseScenario(text, 'x.yaml')
    const ideal = idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!)
    const fct = new VirtualRun(scenario).run().flows[0]!.fctNs!
    t.ok(
      fct >= ideal && fct - ideal <= 8 * 2,
      `${cc}, ${size}: ${fct} of ${ideal} ns, two ns for each link and way`,
    )
  }
})

long(
  'a lone flow whose packets do not all collect, or whose telemetry is not all echoed, beats no ideal',
  async t => {
    const ideal = (cc: string, telemetry: string) => {
      const text = `link: {rate: 100Mbps, delay: 1us}\nhosts: [a, b]\nswitches: [s1, s2]\nlinks: [a--s1, s1--s2, s2--b]\ncc: ${cc}\ntelemetry: {${telemetry}}\ntransport: {pathMtu: 256}\ntraffic: [{from: a, to: b, size: 300KB}]\n`
      const scenario = parseScenario(text, 'x.yaml')
      const { slowdown, idealFctNs } = new VirtualRun(scenario).run().flows[0]!
      t.ok(slowdown! >= 1 && slowdown! < 1.12, `${cc}, ${telemetry}: ${slowdown}`)
      return idealFctNs
    }
    const all = ideal('hpcc', '')
    const lean = ideal('hpcc', 'everyPackets: 100')
    // 1,172 packets, each without its two records of 24 bytes; the ACK without the shim that echoes them. 80 ns a byte.
    t.ok(Math.abs(all - lean - 80 * (1172 + 2) * 48 - 80 * 3 * 56) <= 1, `${all} and ${lean} ns`)
    t.equal(ideal('hpcc', 'collect: probe'), lean)
    t.equal(lean - ideal('hpcc', 'everyBytes: 90KB, plain: true'), 80 * (1172 + 2) * 8)
    ideal('hpcc', 'hops: busiest')
    ideal('hpcc', 'answer: notify')
    ideal('rx-hpcc', '')
  },
)

long('no flow of a busy fat-tree beats its ideal', async t => {
  const text = fatTree().replace(/^traffic.*$/m, 'traffic: [{workload: googlerpc, load: 5%, duration: 50us}]')
  const scenario = parseScenario(text, 'x.yaml')
  const { flows } = new VirtualRun(scenario, { seed }).run()
  t.ok(flows.length > 50, `${flows.length} flows`)
  const slowdowns = flows.map(flow => flow.slowdown ?? Number.NaN)
  t.ok(Math.min(...slowdowns) >= 1, `the fastest took ${Math.min(...slowdowns)} of its ideal`)
  t.ok(Math.min(...slowdowns) < 1.01, 'and comes near it')
})

/**
 * Sends the packets one by one over every link in turn: the plain recursion for which the formula is a closed
 * form.
 */
function simulate(sizes: number[], rates: number[]): number {
  const free = new Array<number>(rates.length).fill(0)
  let last = 0
  for (const size of sizes) {
    let at = 0
    for (const [k, rate] of rates.entries()) {
      at = Math.max(at, free[k]!) + (size * 8e9) / rate
      free[k] = at
    }
    last = at
  }
  return last
}

usual('ideal FCT equals a packet-by-packet calculation on random paths', async t => {
  let state = seed
  const draw = (below: number) => {
    state = (state * 48271) % 0x7fffffff
    return state % below
  }
  const speeds = [1, 10, 25, 40, 100]
  let compared = 0
  for (let round = 0; round < 300; round++) {
    const count = 1 + draw(6)
    const rates = Array.from({ length: count }, () => speeds[draw(speeds.length)]! * 1e9)
    const nodes = ['a', ...Array.from({ length: count - 1 }, (_, i) => `s${i}`), 'b']
    const links = rates.map(
      (rate, i) => `{ends: ${nodes[i]}--${nodes[i + 1]}, rate: ${rate}bps, delay: ${i}us}`,
    )
    const bytes = 1 + draw(20_000)
    const text = `hosts: [a, b]\nswitches: [${nodes.slice(1, -1).join(', ')}]\nlinks: [${links.join(', ')}]\ncc: fixed-window\ntraffic: [{from: a, to: b, size: ${bytes}B}]\n`
    const scenario = parseScenario(text, 'x.yaml')
    const sizes: number[] = []
    for (let left = bytes; left > 0; left -= 1024) sizes.push(58 + Math.ceil(Math.min(left, 1024) / 4) * 4)
    sizes[0]! += 16
    let expected = simulate(sizes, rates) + simulate([62], rates)
    for (let i = 0; i < count; i++) expected += 2 * i * 1000
    const got = idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!)
    if (Math.abs(got - expected) > 1.001)
      t.fail(`${bytes} B over ${rates.join(', ')}: ${got}, not ${expected}`)
    compared++
  }
  t.equal(compared, 300)
})

usual('of two paths the faster makes the ideal; no path makes none', async t => {
  const base = 'hosts: [a, b, c]\nswitches: [s1, s2, x, y]\ncc: fixed-window\n'
  const links = (rate: string) =>
    `links: [a--s1, c--s1, {ends: s1--x, rate: 1Gbps}, {ends: x--s2, rate: 1Gbps}, {ends: s1--y, rate: ${rate}}, {ends: y--s2, rate: ${rate}}, s2--b]\n`
  const ideal = (rate: string) => {
    const scenario = parseScenario(`${base}${links(rate)}traffic: [{from: a, to: b, size: 1MB}]`, 'x.yaml')
    return idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!)
  }
  t.equal(ideal('100Mbps'), ideal('1Gbps'))
  t.ok(ideal('2Gbps') < ideal('1Gbps'))
  t.equal(slowdown(1500, 1000), 1.5)
  t.equal(slowdown(null, 1000), null)
  t.equal(slowdown(5, 0), null)
})

usual('ports are called as they are named, also single ones of parallel links', async t => {
  const scenario = parseScenario(
    'hosts: [h1, h2]\nswitches: [s1, s2]\nlinks: [h1--s1, s1--s2, s1--s2, s2--h2]',
    'x.yaml',
  )
  const named = (text: string) => portNames(scenario, portsOf(scenario, text))
  t.same(named('s1:s2#1'), ['s1:s2#1'])
  t.same(named('s1:s2'), ['s1:s2#0', 's1:s2#1'])
  t.same(named('s1:h1'), ['s1:h1'])
  t.same(named('s1:2'), ['s1:s2#1'], 'by its number')
})

/** The first ports of the shortest paths. */
function firstPorts(topology: Topology, from: string, to: string): number[] {
  return [...new Set(topology.paths(from, to).map(([hop]) => hop!.port))]
}
