import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { Fabric } from '../../switch-emu/network/fabric.js'
import { linksOf } from '../../switch-emu/node-links.js'
import { portResults } from '../../switch-emu/results/port-results.js'
import { PortSampler } from '../../switch-emu/results/port-sampler.js'
import { udpFrame4 } from '../io/helpers.js'

const YAML = `
name: two
link: {rate: 1Gbps, delay: 10us}
hosts: [h1, h2]
switches: {s1: {buffer: 1MB}, s2: {buffer: 1MB}}
links: [h1--s1, {ends: s1--s2, rate: 100Mbps, delay: 1ms}, s2--h2]
traffic: [{name: flow0, from: h1, to: h2, size: 1MB}]
watch: {queues: [s1:s2], every: 100us}
`

/** A host that sends a burst at time 0, and records what arrives. */
class TestHost implements Node {
  readonly arrivals: { at: Nanos; id: number }[] = []
  readonly #pool: FramePool
  readonly outgoing: Frame[] = []

  constructor(pool: FramePool) {
    this.#pool = pool
  }

  onFrame(now: Nanos, _port: number, frame: Frame): void {
    this.arrivals.push({ at: now, id: frame.view.getUint32(42) })
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

function build(yaml = YAML) {
  const scenario = parseScenario(yaml, 'two.yaml')
  const pool = new FramePool(256)
  const fabric = new Fabric(scenario, { pool, random: () => 0.5 })
  const hosts = new Map(scenario.hosts.map(host => [host.name, new TestHost(pool)]))
  const ids = new Map(
    scenario.hosts.map(host => [host.name, fabric.attach(host.name, hosts.get(host.name)!)]),
  )
  return { scenario, pool, fabric, hosts, ids }
}

function frameTo(pool: FramePool, source: string, destination: string, id: number, bytes: number): Frame {
  const frame = udpFrame4(pool, {
    source,
    destination,
    sourcePort: 0xc001,
    destinationPort: 4000,
    payload: new Uint8Array(bytes - 42),
  })
  ipv4.updateChecksum(frame.view, 14)
  frame.view.setUint32(42, id)
  return frame
}

t.test('frames arrive when serialisation and delays of the path say, in order', t => {
  const { scenario, pool, fabric, hosts, ids } = build()
  const [h1, h2] = scenario.hosts
  const bytes = 1250
  // 1250 bytes: 10 us at 1 Gbit/s, 100 us at 100 Mbit/s. The host's line sends them back to back.
  for (let i = 0; i < 4; i++) {
    const frame = frameTo(pool, h1!.address, h2!.address, i, bytes)
    frame.departNs = (i + 1) * 10_000
    hosts.get('h1')!.outgoing.push(frame)
  }
  fabric.network.kick(ids.get('h1')!)
  fabric.network.runUntil(10_000_000)
  // First: 10 line + 10 delay, 100 line + 1000 delay, 10 line + 10 delay = 1140 us; then one every 100 us.
  t.same(
    hosts.get('h2')!.arrivals,
    [0, 1, 2, 3].map(i => ({ at: 1_140_000 + i * 100_000, id: i })),
  )
  t.equal(pool.inUse, 0)
  const report = portResults(scenario, fabric.switches, 10_000_000)
  const bottleneck = report.find(port => port.switch === 's1' && port.peer === 's2')!
  t.equal(bottleneck.txBytes, 4 * bytes)
  t.equal(bottleneck.rateBps, 100e6)
  t.ok(Math.abs(bottleneck.utilization! - 0.04) < 1e-9, '400 us of 10 ms')
  // At the third's arrival (40 us) the first is on the line and the second waits; the fourth comes at 50 us.
  t.equal(bottleneck.maxQueueBytes, 3 * bytes)
  // Waiting: the second 30 to 120 us, the third 40 to 220, the fourth 50 to 320: 540 us of 10 ms.
  t.ok(Math.abs(bottleneck.meanQueueBytes - (540 / 10_000) * bytes) < 1e-6)
  t.equal(bottleneck.drops, 0)
  t.equal(report.length, 4, 'two ports on each switch')
  t.end()
})

t.test('samples are exact, wherever the run stops between events', t => {
  const { scenario, pool, fabric, hosts, ids } = build()
  const [h1, h2] = scenario.hosts
  const sampler = new PortSampler(scenario, fabric.switches, 0)
  for (let i = 0; i < 4; i++) {
    const frame = frameTo(pool, h1!.address, h2!.address, i, 1250)
    frame.departNs = (i + 1) * 10_000
    hosts.get('h1')!.outgoing.push(frame)
  }
  fabric.network.kick(ids.get('h1')!)
  for (let at = sampler.nextTimeout(); at <= 500_000; at = sampler.nextTimeout()) {
    fabric.network.runUntil(at)
    sampler.sample(at)
  }
  const { 'queue/s1:s2': queue, 'tx/s1:s2': tx } = sampler.series()
  t.same(queue!.timesNs, [0, 100_000, 200_000, 300_000, 400_000, 500_000])
  // Departures start at 20, 120, 220 and 320 us.
  t.same(
    queue!.values,
    [0, 3, 2, 1, 0, 0].map(n => n * 1250),
  )
  t.same(
    tx!.values,
    [0, 1, 2, 3, 4, 4].map(n => n * 1250),
  )
  fabric.network.runUntil(10_000_000)
  t.equal(pool.inUse, 0)
  t.end()
})

t.test('a host that is no host, or attached already, is refused', t => {
  const { fabric, pool } = build()
  t.throws(() => fabric.attach('s1', new TestHost(pool)), { code: 'WEIR_BAD_ARGUMENT', message: /h1, h2/ })
  t.throws(() => fabric.attach('h1', new TestHost(pool)), { code: 'WEIR_BAD_ARGUMENT' })
  t.end()
})

t.test('links as a node sees them', t => {
  const { scenario } = build()
  t.same(
    linksOf(scenario, 's1').map(({ port, peer, rateBps }) => [port, peer.node, rateBps]),
    [
      [0, 'h1', 1e9],
      [1, 's2', 100e6],
    ],
  )
  t.end()
})
