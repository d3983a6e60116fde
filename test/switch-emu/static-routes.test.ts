/** Static routes of a scenario. The TTL of a frame shows its way. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { Fabric } from '../../switch-emu/network/fabric.js'
import { buildFrame } from './build-frame.js'

const RING = `
link: {rate: 1Gbps, delay: 1us}
hosts: [h1..h4]
switches: [s1, s2, s3, s4]
links: [h1--s1, h2--s2, h3--s3, h4--s4, s1--s2, s2--s3, s3--s4, s4--s1]
`
const MS = 1_000_000

/** Sends frames on request, and records how often arriving ones have been forwarded. */
class TestHost implements Node {
  readonly hops: number[] = []
  readonly outgoing: Frame[] = []
  readonly #pool: FramePool

  constructor(pool: FramePool) {
    this.#pool = pool
  }

  onFrame(_now: Nanos, _port: number, frame: Frame): void {
    this.hops.push(64 - ipv4.ttl(frame.view, frame.l3))
    this.#pool.give(frame)
  }
  onTimeout(): void {}
  nextTimeout(): Nanos {
    return NEVER
  }
  pollTransmit(): Frame | null {
    return this.outgoing.shift() ?? null
  }
}

function ring(routes: string) {
  const scenario = parseScenario(`${RING}routes: [${routes}]`, 'ring.yaml')
  const pool = new FramePool(64, HEADER_SLOT_BYTES)
  const fabric = new Fabric(scenario, { pool, random: () => 0.5 })
  const hosts = new Map(scenario.hosts.map(({ name }) => [name, new TestHost(pool)]))
  const ids = new Map([...hosts].map(([name, node]) => [name, fabric.attach(name, node)]))
  const address = (name: string) => {
    const parsed = HostAddress.parse(scenario.hosts.find(host => host.name === name)!.address)
    return parsed.ipv4
  }
  return {
    pool,
    fabric,
    expired: () =>
      fabric.switches.reduce(
        (sum, sw) =>
          sum + sw.ports.reduce((n, port) => n + port.counters.window().dropsByReason.ttlExpired!, 0),
        0,
      ),
    /** Hops of a frame that is sent at `at`, once it has had time to arrive; undefined if it never does. */
    send(at: Nanos, from: string, to: string): number | undefined {
      fabric.network.runUntil(at)
      const frame = buildFrame(pool, { from: address(from), to: address(to) })
      frame.departNs = at
      hosts.get(from)!.outgoing.push(frame)
      fabric.network.kick(ids.get(from)!, at)
      fabric.network.runUntil(at + MS / 2)
      return hosts.get(to)!.hops.shift()
    },
  }
}

t.test('a route overrides the shortest path, from the very beginning', async t => {
  const { send, pool } = ring('{switch: s1, to: h2, via: s4}, {switch: s4, to: h2, via: s3}')
  t.equal(send(0, 'h1', 'h2'), 4, 's1 s4 s3 s2')
  t.equal(send(MS, 'h2', 'h1'), 2, 'the way back is as short as ever')
  t.equal(send(2 * MS, 'h3', 'h2'), 2)
  t.equal(pool.inUse, 0)
})

t.test('a temporary route: a loop appears and disappears, by the time of the traffic', async t => {
  // A neighbour returns what it gets: s2 > s1 > s2 until the TTL of 64 has expired.
  const { send, fabric, expired, pool } = ring(
    '{switch: s2, to: h3, via: s1, start: 10ms, duration: 5ms},\
 {switch: s1, to: h3, via: s2, start: 10ms, duration: 10ms}',
  )
  t.equal(send(12 * MS, 'h2', 'h3'), 2, 'the traffic has not begun')
  fabric.begin(20 * MS)
  t.equal(send(29 * MS, 'h2', 'h3'), 2)
  t.equal(send(30 * MS, 'h2', 'h3'), undefined)
  t.equal(expired(), 1)
  t.equal(send(34 * MS, 'h1', 'h3'), undefined)
  t.equal(expired(), 2)
  t.equal(send(35 * MS, 'h2', 'h3'), 2)
  t.equal(send(36 * MS, 'h1', 'h3'), 3)
  fabric.begin(37 * MS)
  t.equal(send(38 * MS, 'h2', 'h3'), 2)
  t.equal(send(47 * MS, 'h2', 'h3'), undefined, 'another run of the traffic, another loop')
  fabric.begin(48 * MS)
  t.equal(send(48 * MS, 'h2', 'h3'), 2, 'a run that is cut short leaves no route behind')
  t.equal(pool.inUse, 0)
})

t.test('one follows the other, over a route for good', async t => {
  const { send, fabric } = ring(
    '{switch: s1, to: h2, via: s4}, {switch: s4, to: h2, via: s3},\
 {switch: s1, to: h2, via: s2, start: 1ms, duration: 1ms}, {switch: s1, to: h2, via: s4, start: 2ms, duration: 1ms}',
  )
  fabric.begin(0)
  t.equal(send(0, 'h1', 'h2'), 4)
  t.equal(send(MS, 'h1', 'h2'), 2)
  t.equal(send(2 * MS, 'h1', 'h2'), 4)
  t.equal(send(4 * MS, 'h1', 'h2'), 4)
})
