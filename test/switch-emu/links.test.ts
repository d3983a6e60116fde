/**
 * Links that change while the network runs: what is lost, when frames arrive, which way they go. Frames are injected by hand, so
 * that every time and count follows from the link's rate and delay alone.
 */
import t, { type Test } from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MICROSECOND, MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { RealTimeFabric } from '../../switch-emu/real-time/real-time-fabric.js'
import { buildFrame } from './build-frame.js'

/** A frame of 1,000 bytes takes 100 µs on each link of 80 Mbit/s. */
const FRAME_NS = 100 * MICROSECOND
const DELAY_NS = 200 * MICROSECOND
const YAML = (more: string) => `
name: links
link: { rate: 80Mbps, delay: 200us }
hosts: [h1, h2, h3]
switches: { s1: {}, s2: {}, s3: {} }
links: [h1--s1, h2--s1, s1--s2, s2--h3, s1--s3, s3--s2]
${more}
`

interface Arrival {
  host: string
  atNs: number
}

function network(test: Test, more = '') {
  const pool = new FramePool(512, 1100)
  const scenario = parseScenario(YAML(more), 'links.yaml')
  const arrivals: Arrival[] = []
  const names = scenario.hosts.map(({ name }) => name)
  const fabric = new RealTimeFabric({
    scenario,
    pool,
    hosts: names,
    startNs: 0,
    deliver: (link, frame) => {
      arrivals.push({ host: names[link]!, atNs: frame.departNs })
      pool.give(frame)
    },
  })
  fabric.begin(0)
  const address = (host: string) =>
    HostAddress.parse(scenario.hosts.find(({ name }) => name === host)!.address).ipv4
  const endsOf = (node: string, peer: string) => {
    const link = scenario.links.find(
      ({ a, b }) => (a.node === node && b.node === peer) || (b.node === node && a.node === peer),
    )!
    return [link.a, link.b]
  }
  return {
    arrivals,
    fabric,
    until: (ns: number) => fabric.runUntil(ns),
    /** Sends frames one after the other from `ns` on. */
    send(ns: number, from: string, to: string, count = 1) {
      fabric.runUntil(ns)
      for (let n = 0; n < count; n++) {
        const frame = buildFrame(pool, {
          from: address(from),
          to: address(to),
          wireBytes: 1000,
          sourcePort: 50_000,
        })
        frame.l3 = -1
        fabric.inject(ns, names.indexOf(from), frame)
      }
    },
    set(ns: number, link: [string, string], settings: object, reset = false) {
      return fabric.setLinks(ns, { ends: endsOf(...link), settings, reset })
    },
    port(ns: number, name: string) {
      return fabric.report(ns, 0).ports.find(port => port.name === name)!
    },
    /** Nothing is left behind. */
    end() {
      fabric.runUntil(10_000 * MILLISECOND)
      fabric.close()
      test.equal(pool.inUse, 0, 'every frame is back')
    },
  }
}

/** From h1 over s1 and s2 to h3: three links. */
const THREE_LINKS = 3 * (FRAME_NS + DELAY_NS)

t.test('without a change a frame takes its time', async t => {
  const net = network(t)
  net.send(0, 'h1', 'h3')
  net.until(MILLISECOND)
  t.same(net.arrivals, [{ host: 'h3', atNs: THREE_LINKS }])
  net.end()
})

t.test(
  'a link goes down: frames on their way are lost, those that wait and those that come are dropped',
  async t => {
    const net = network(t)
    // Both hosts at once: the frames leave s1 one after the other from 300 µs on, 100 µs each.
    net.send(0, 'h1', 'h3', 4)
    net.send(0, 'h2', 'h3', 4)
    // By 650 µs four have begun to leave. The first has arrived at s2 at 600 µs. Frames 2, 3 and 4 are on their way, and four
    // wait; the host's last frames came at 600 µs.
    net.set(650 * MICROSECOND, ['s1', 's2'], { down: true })
    net.send(MILLISECOND, 'h1', 'h3', 2)
    net.until(2 * MILLISECOND)
    const port = net.port(2 * MILLISECOND, 's1:s2')
    t.same(port.dropsByReason, { linkDown: 6 })
    const { links } = net.fabric.ports(2 * MILLISECOND, 0)
    const out = links.find(({ name }) => name === 's1:s2')!
    t.same([out.cut, out.set], [3, 'down'])
    t.same(net.arrivals, [{ host: 'h3', atNs: THREE_LINKS }])

    net.set(3 * MILLISECOND, ['s1', 's2'], { down: false })
    net.send(4 * MILLISECOND, 'h1', 'h3')
    net.until(6 * MILLISECOND)
    t.same(net.arrivals.at(-1), { host: 'h3', atNs: 4 * MILLISECOND + THREE_LINKS }, 'it is as it was before')
    net.end()
  },
)

t.test("a host's link goes down: both ways, also what has left the last switch", async t => {
  const net = network(t)
  net.send(0, 'h1', 'h3')
  // It leaves s2 at 700 µs, and would arrive at 900.
  net.set(800 * MICROSECOND, ['s2', 'h3'], { down: true })
  net.send(900 * MICROSECOND, 'h3', 'h1', 2)
  net.until(3 * MILLISECOND)
  t.same(net.arrivals, [])
  const { links } = net.fabric.ports(3 * MILLISECOND, 0)
  t.same(
    links.map(({ name, cut }) => [name, cut]),
    [
      ['s2:h3', 1],
      ['h3:s2', 2],
    ],
  )
  net.end()
})

t.test('delay: frames on their way keep theirs, and none overtakes another', async t => {
  for (const link of [
    ['s1', 's2'],
    ['s2', 'h3'],
    ['h1', 's1'],
  ] as [string, string][]) {
    const net = network(t)
    net.set(0, link, { delayNs: 5 * MILLISECOND })
    net.send(0, 'h1', 'h3')
    const longer = 5 * MILLISECOND - DELAY_NS
    // All on the first link: it is on its way there, or behind it.
    net.set(2 * MILLISECOND, link, { delayNs: DELAY_NS })
    net.send(2 * MILLISECOND, 'h1', 'h3')
    net.until(20 * MILLISECOND)
    const first = THREE_LINKS + longer
    const times = net.arrivals.map(({ atNs }) => atNs)
    t.equal(times[0], first, `${link.join('--')}: the first frame`)
    t.ok(times[1]! >= first && times[1]! <= first + FRAME_NS, 'the second arrives behind it, and not later')
    net.send(20 * MILLISECOND, 'h1', 'h3')
    net.until(30 * MILLISECOND)
    t.equal(net.arrivals[2]!.atNs, 20 * MILLISECOND + THREE_LINKS)
    net.end()
  }
})

t.test('rate: frames that start later take longer, at a switch and at a host', async t => {
  for (const link of [
    ['s1', 's2'],
    ['s2', 'h3'],
    ['h1', 's1'],
  ] as [string, string][]) {
    const net = network(t)
    net.set(0, link, { rate: 8_000_000 })
    net.send(0, 'h1', 'h3', 3)
    net.until(20 * MILLISECOND)
    const gaps = net.arrivals.map(({ atNs }, i) => atNs - (net.arrivals[i - 1]?.atNs ?? 0))
    t.same(gaps, [THREE_LINKS + 9 * FRAME_NS, 10 * FRAME_NS, 10 * FRAME_NS], link.join('--'))
    net.set(20 * MILLISECOND, link, {}, true)
    net.send(20 * MILLISECOND, 'h1', 'h3')
    net.until(30 * MILLISECOND)
    t.equal(net.arrivals[3]!.atNs, 20 * MILLISECOND + THREE_LINKS, 'after a reset it is as before')
    net.end()
  }
})

t.test('the utilization of a port is a share of what its rates could carry', async t => {
  const net = network(t)
  net.fabric.begin(0)
  net.set(5 * MILLISECOND, ['s1', 's2'], { rate: 8_000_000 })
  net.send(0, 'h1', 'h3', 0)
  net.send(5 * MILLISECOND, 'h1', 'h3', 2)
  const port = net.port(10 * MILLISECOND, 's1:s2')
  t.equal(port.rateBps, 8_000_000)
  // 5 ms at 80 Mbit/s and 5 ms at 8 Mbit/s are 55,000 bytes.
  t.equal(port.utilization, 2000 / 55_000)
  net.end()
})

t.test('events: at a time, for a time; those that overlap cover each other', async t => {
  const net = network(
    t,
    `events:
  - { at: 1ms, for: 10ms, link: s1--s2, delay: 1ms }
  - { at: 3ms, for: 2ms, link: s1--s2, delay: 2ms }
  - { at: 4ms, link: s1--s2, delay: 400us }
`,
  )
  const delays: number[] = []
  for (const ms of [0, 2, 4, 8, 14]) net.send(ms * MILLISECOND, 'h1', 'h3')
  net.until(20 * MILLISECOND)
  for (const [i, ms] of [0, 2, 4, 8, 14].entries())
    delays.push((net.arrivals[i]!.atNs - ms * MILLISECOND - THREE_LINKS + DELAY_NS) / MICROSECOND)
  t.same(delays, [200, 1000, 2000, 1000, 400], 'what was set for good holds when the others have ended')
  t.same(net.fabric.report(20 * MILLISECOND, 0).timeline, [
    { atNs: MILLISECOND, event: 's1--s2 delay=1ms' },
    { atNs: 3 * MILLISECOND, event: 's1--s2 delay=2ms' },
    { atNs: 4 * MILLISECOND, event: 's1--s2 delay=400us' },
    { atNs: 5 * MILLISECOND, event: 's1--s2 delay=2ms ends' },
    { atNs: 11 * MILLISECOND, event: 's1--s2 delay=1ms ends' },
  ])
  net.end()
})

t.test(
  'without reroute frames are dropped; with it they take another path after that time, and back',
  async t => {
    const down = 'events: [{ at: 1ms, for: 9ms, link: s1--s2, down: true }]'
    const without = network(t, down)
    without.send(5 * MILLISECOND, 'h1', 'h3')
    without.until(9 * MILLISECOND)
    t.same(without.arrivals, [])
    without.end()

    const net = network(t, `${down}\nreroute: 2ms`)
    net.send(2 * MILLISECOND, 'h1', 'h3')
    net.send(5 * MILLISECOND, 'h1', 'h3')
    net.send(11 * MILLISECOND, 'h1', 'h3')
    net.send(13 * MILLISECOND, 'h1', 'h3')
    net.until(20 * MILLISECOND)
    const oneMore = THREE_LINKS + FRAME_NS + DELAY_NS
    t.same(
      net.arrivals.map(({ atNs }) => atNs),
      [5 * MILLISECOND + oneMore, 11 * MILLISECOND + oneMore, 13 * MILLISECOND + THREE_LINKS],
      'over s3 from 3 ms to 12 ms',
    )
    t.equal(net.port(20 * MILLISECOND, 's1:s2').drops, 1)
    net.end()
  },
)

t.test('a host without another path: its frames are dropped at the port that is down', async t => {
  const net = network(t, 'reroute: 0\nevents: [{ at: 1ms, link: s2--h3, down: true }]')
  net.send(2 * MILLISECOND, 'h1', 'h3')
  net.until(5 * MILLISECOND)
  t.same(net.port(5 * MILLISECOND, 's2:h3').dropsByReason, { linkDown: 1 })
  net.end()
})

t.test(
  "a port whose link goes down forgets its peer's pauses; what it has paused itself it pauses again",
  async t => {
    const pool = new FramePool(512, 1100)
    const scenario = parseScenario(
      `hosts: [h1, h2]
link: { rate: 80Mbps, delay: 10us }
switches: { s1: { buffer: 1MB, pfc: { xoff: 3KB } } }
links: [h1--s1, h2--s1]`,
      'pfc.yaml',
    )
    const pauses: number[] = []
    let frames = 0
    const fabric = new RealTimeFabric({
      scenario,
      pool,
      hosts: ['h1', 'h2'],
      startNs: 0,
      deliver: (link, frame) => {
        if (pfc.isPfc(frame.view, 0, frame.length))
          pauses.push(pfc.quanta(frame.view, 0, 3) > 0 ? frame.departNs : -frame.departNs)
        else if (link === 1) frames++
        pool.give(frame)
      },
    })
    fabric.begin(0)
    const [h1, h2] = scenario.hosts.map(({ address }) => HostAddress.parse(address).ipv4)
    const pause = pool.take()!
    pfc.write(pause.view, 0, 1, 1 << 3, 0xffff)
    pause.length = pfc.BYTES
    pause.wireLength = pfc.BYTES
    pause.l3 = -1
    fabric.inject(0, 1, pause)
    fabric.runUntil(MILLISECOND)
    const send = (ns: number, count: number) => {
      for (let n = 0; n < count; n++) {
        const frame = buildFrame(pool, { from: h1!, to: h2!, wireBytes: 1000, tos: 24 << 2 })
        frame.l3 = -1
        fabric.inject(ns, 0, frame)
      }
      fabric.runUntil(ns)
    }
    // h2 holds its port for 419 ms. Five frames wait for it, and s1 pauses h1.
    send(MILLISECOND, 5)
    fabric.runUntil(3 * MILLISECOND)
    t.equal(pauses.length, 1, 'h1 is paused')
    t.equal(frames, 0)
    // The link of h1: h1 forgets the pause. When the link comes up, s1 pauses it again at once.
    fabric.setLinks(3 * MILLISECOND, {
      ends: [
        { node: 'h1', port: 0 },
        { node: 's1', port: 0 },
      ],
      settings: { down: true },
      reset: false,
    })
    fabric.setLinks(4 * MILLISECOND, {
      ends: [
        { node: 'h1', port: 0 },
        { node: 's1', port: 0 },
      ],
      settings: { down: false },
      reset: false,
    })
    fabric.runUntil(5 * MILLISECOND)
    t.equal(pauses.length, 2)
    t.ok(pauses[1]! > 4 * MILLISECOND && pauses[1]! < 4.1 * MILLISECOND)
    // The link of h2: what waits is dropped, and its pause is forgotten. What comes after it came up is not held.
    const ends = [
      { node: 's1', port: 1 },
      { node: 'h2', port: 0 },
    ]
    fabric.setLinks(5 * MILLISECOND, { ends, settings: { down: true }, reset: false })
    fabric.setLinks(6 * MILLISECOND, { ends, settings: { down: false }, reset: false })
    fabric.runUntil(7 * MILLISECOND)
    t.ok(pauses.at(-1)! < 0, 'h1 may go on')
    send(7 * MILLISECOND, 1)
    fabric.runUntil(8 * MILLISECOND)
    t.equal(frames, 1)
    const [, port] = fabric.report(8 * MILLISECOND, 0).ports
    t.same(port!.dropsByReason, { linkDown: 5 })
    fabric.runUntil(1000 * MILLISECOND)
    fabric.close()
    t.equal(pool.inUse, 0)
  },
)

t.test(
  'a switch restarts: what waits is dropped, its links are down meanwhile, telemetry counts from 0',
  async t => {
    const net = network(t, 'events: [{ at: 650us, restart: s1, for: 2ms }]')
    net.send(0, 'h1', 'h3', 4)
    net.send(0, 'h2', 'h3', 4)
    net.send(MILLISECOND, 'h1', 'h3', 2)
    net.send(3 * MILLISECOND, 'h1', 'h3')
    net.until(5 * MILLISECOND)
    // As when the link to s2 goes down at 650 µs: one frame has reached s2, three are on their way, four wait. Two come meanwhile.
    t.same(net.port(5 * MILLISECOND, 's1:s2').dropsByReason, { restarted: 4 })
    const { links, timeline, ports } = net.fabric.report(5 * MILLISECOND, 0)
    const cut = Object.fromEntries(links.map(({ name, cut }) => [name, cut]))
    t.same(cut, {
      'h1:s1': 2,
      's1:h1': 0,
      'h2:s1': 0,
      's1:h2': 0,
      's1:s2': 3,
      's2:s1': 0,
      's1:s3': 0,
      's3:s1': 0,
    })
    t.same(net.arrivals, [
      { host: 'h3', atNs: THREE_LINKS },
      { host: 'h3', atNs: 3 * MILLISECOND + THREE_LINKS },
    ])
    t.same(timeline, [
      { atNs: 650 * MICROSECOND, event: 'restart of s1' },
      { atNs: 2650 * MICROSECOND, event: 'restart of s1 ends' },
    ])
    t.equal(ports.find(({ name }) => name === 's1:s2')!.txBytes, 5000, 'the report counts on')
    net.end()
  },
)

t.test('counters of telemetry begin anew when a switch restarts, those of the report do not', async t => {
  const pool = new FramePool(16, 512)
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps: 1e9 }, { rateBps: 1e9 }],
    bufferBytes: 1e6,
    pool,
    random: () => 0,
  })
  sw.routes.set(HostAddress.parse('10.0.0.2'), [1])
  const send = (now: number) => {
    sw.onFrame(now, 0, buildFrame(pool, { from: 0x0a000001, to: 0x0a000002, wireBytes: 1000 }))
    pool.give(sw.pollTransmit(now)!)
  }
  send(0)
  t.equal(sw.ports[1]!.counters.txBytes, 1000)
  sw.restart(10_000)
  t.equal(sw.ports[1]!.counters.txBytes, 0)
  t.equal(sw.ports[1]!.sentBytes(0), 0)
  send(20_000)
  t.equal(sw.ports[1]!.counters.txBytes, 1000)
  t.equal(sw.report(30_000, 1).txBytes, 2000)
})

t.test('a random process: its times are exponentially distributed, and depend on the seed alone', async t => {
  const times = (seed: number) => {
    const net = network(
      t,
      `seed: ${seed}\nevents: [{ every: exp 8ms, for: exp 2ms, link: s1--s2, down: true }]`,
    )
    net.until(9999 * MILLISECOND)
    const { timeline } = net.fabric.report(9999 * MILLISECOND, 0)
    net.end()
    return timeline.map(({ atNs }) => atNs)
  }
  const of7 = times(7)
  t.same(times(7), of7)
  t.notSame(times(8), of7)
  // The timeline holds the first 1,000 entries: 500 times with their ends.
  t.equal(of7.length, 1000)
  const gaps = of7.map((at, i) => at - (of7[i - 1] ?? 0))
  for (const [what, mean, drawn] of [
    ['between them', 8 * MILLISECOND, gaps.filter((_, i) => i % 2 === 0)],
    ['how long', 2 * MILLISECOND, gaps.filter((_, i) => i % 2 === 1)],
  ] as const) {
    const sorted = [...drawn].sort((a, b) => a - b)
    const distance = Math.max(
      ...sorted.map((gap, i) => Math.abs(1 - Math.exp(-gap / mean) - (i + 0.5) / sorted.length)),
    )
    t.ok(
      distance < 1.95 / Math.sqrt(sorted.length),
      `${what}: distance ${distance} from the exponential distribution`,
    )
  }
})

t.test('fixed times, so often', async t => {
  const net = network(t, 'events: [{ at: 1ms, every: 3ms, for: 1ms, repeat: 2, link: s1--s2, down: true }]')
  net.until(30 * MILLISECOND)
  const { timeline } = net.fabric.report(30 * MILLISECOND, 0)
  t.same(
    timeline.map(({ atNs }) => atNs / MILLISECOND),
    [1, 2, 4, 5],
  )
  net.end()
})
