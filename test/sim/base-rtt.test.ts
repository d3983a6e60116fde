/**
 * T where it cannot be measured on an idle path at connect: beside a queue of other flows, or with a peer
 * that answers no probes and accepts late. A switch writes telemetry, so that the queues of others can be
 * distinguished from the path.
 */
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import { TrafficFlow } from '../../lib/traffic/traffic-flow.js'
import { TrafficSink } from '../../lib/traffic/traffic-sink.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { long, usual } from '../support/long.js'
import { write } from './bottleneck.js'

const RATE_BPS = 10e9
const DELAY_NS = 5000
/** 1.67 ms of queue at the bottleneck. */
const LOAD_BYTES = (1.67e-3 * RATE_BPS) / 8

interface Star {
  network: Network
  sw: Switch
  /** Makes a flow from that host to the receiver, connects it, and returns it when it is established. */
  connect(host: number, name: string, bytes: number, cc?: { name: string; options: object }): TrafficFlow
  run(forNs: Nanos): void
  /** Mean queue towards the receiver in that time, bytes. */
  meanQueue(forNs: Nanos): number
}

/** Five hosts. The last one receives. @param priority of hosts 0 and 1; that of the others is 0 */
function star(baseRttWindowNs: Nanos, priority = 0): Star {
  const pool = new FramePool(20_000, HEADER_SLOT_BYTES)
  const network = new Network({ pool })
  const random = new Random(3)
  const luck = random.fork('marking')
  const ports = [0, 1, 2, 3, 4].map(() => ({ rateBps: RATE_BPS }))
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports,
    bufferBytes: 16e6,
    pool,
    random: () => luck.next(),
    classifier: { dscp: { 24: 3 } },
  })
  const addresses = [1, 2, 3, 4, 5].map(n => HostAddress.parse(`10.0.0.${n}`))
  const nics = addresses.map((address, i) => {
    const source = random.fork(`nic ${i}`)
    return new Nic({
      address,
      pool,
      random: () => source.u32(),
      lineRateBps: RATE_BPS,
      icrc: 'off',
      baseRttWindowNs,
      priority: i < 2 ? priority : 0,
    })
  })
  const ids = nics.map(nic => network.addNode(nic))
  const swId = network.addNode(sw)
  for (const [i, address] of addresses.entries()) {
    sw.routes.set(address, [i])
    network.connect(ids[i]!, 0, swId, i, DELAY_NS)
  }
  new TrafficSink(nics[4]!, 1 << 20, false)
  const run = (forNs: Nanos) => network.runUntil(network.now + forNs)
  return {
    network,
    sw,
    run,
    connect(host, name, bytes, cc) {
      const connect = cc === undefined ? {} : { cc: cc as { name: string; options: Record<string, number> } }
      const flow = new TrafficFlow(network.now, nics[host]!, addresses[4]!, {
        name,
        bytes,
        storage: false,
        connect,
      })
      network.kick(ids[host]!)
      run(20 * MILLISECOND)
      if (!flow.established) throw new Error(`${name} is not connected`)
      const start = flow.start.bind(flow)
      flow.start = now => {
        start(now)
        network.kick(ids[host]!)
      }
      return flow
    },
    meanQueue(forNs) {
      let sum = 0
      const samples = 1000
      for (let n = 0; n < samples; n++) {
        run(forNs / samples)
        sum += sw.ports[4]!.queueBytes
      }
      return sum / samples
    },
  }
}

/** T of an idle path, as probes measure it. */
function idleNs(): Nanos {
  return star(10 * SECOND).connect(0, 'idle', 1000).connection.stats.baseRttNs
}

/** Two hosts fill the queue with this many bytes each. */
function load({ connect, network }: Star, bytes: number): TrafficFlow[] {
  const half = { name: 'fixed-window', options: { window: LOAD_BYTES / 2 } }
  const flows = [connect(2, 'load 2', bytes, half), connect(3, 'load 3', bytes, half)]
  for (const flow of flows) flow.start(network.now)
  return flows
}

usual('connected beside a standing queue: T is that of the idle path, at once', async t => {
  const idle = idleNs()
  const it = star(10 * SECOND)
  load(it, 1e9)
  it.run(20 * MILLISECOND)
  const { stats } = it.connect(0, 'flow', 1e6).connection
  t.comment(`idle ${idle}, beside the load ${stats.baseRttNs}; queue ${it.meanQueue(MILLISECOND)}`)
  t.ok(it.meanQueue(MILLISECOND) > 0.9 * LOAD_BYTES, 'there is a queue')
  t.ok(stats.baseRttNs > idle / 2 && stats.baseRttNs < 2 * idle, `${stats.baseRttNs / idle} of it`)
})

usual('connected beside the queue of a lower priority, in which nothing of the flow waits', async t => {
  const idle = idleNs()
  const it = star(10 * SECOND, 3)
  load(it, 1e9)
  it.run(20 * MILLISECOND)
  const { stats } = it.connect(0, 'flow', 1e6).connection
  t.comment(`idle ${idle}, beside the load ${stats.baseRttNs}; queue ${it.meanQueue(MILLISECOND)}`)
  t.ok(it.meanQueue(MILLISECOND) > 0.9 * LOAD_BYTES, 'there is a queue')
  t.ok(stats.baseRttNs > 0.8 * idle && stats.baseRttNs < 1.2 * idle, `${stats.baseRttNs / idle} of it`)
})

usual(
  'connected beside a queue that no telemetry shows: what an earlier connection to that host has measured counts',
  async t => {
    const idle = idleNs()
    const it = star(10 * SECOND)
    const silent = { name: 'fixed-window', options: { window: 20_000 } }
    it.connect(0, 'first', 1000, silent)
    const loads = load(it, 100e6)
    it.run(10 * MILLISECOND)
    const flow = it.connect(0, 'second', 1e6, silent)
    const { stats } = flow.connection
    t.ok(it.meanQueue(MILLISECOND) > 0.9 * LOAD_BYTES, 'there is a queue')
    t.ok(Math.abs(stats.baseRttNs - idle) < 0.2 * idle, `at once ${stats.baseRttNs / idle} of it`)
    const alone = it.connect(1, 'of another host', 1000, silent).connection.stats.baseRttNs
    t.ok(alone > 10 * idle, 'who has no other connection takes the queue for the path')
    it.run(SECOND)
    t.ok(loads.every(({ done }) => done))
    t.ok(Math.abs(stats.baseRttNs - idle) < 0.2 * idle, `later ${stats.baseRttNs / idle} of it`)
  },
)

long('a second after the load has gone T is right, whatever was known before', async t => {
  const idle = idleNs()
  for (const name of ['hpcc', 'fixed-window']) {
    const it = star(10 * SECOND)
    const loads = load(it, 20e6)
    it.run(10 * MILLISECOND)
    const flow = it.connect(0, 'flow', 2e7, { name, options: name === 'hpcc' ? {} : { window: 20_000 } })
    const { stats } = flow.connection
    flow.start(it.network.now)
    while (!loads.every(({ done }) => done)) it.run(MILLISECOND)
    it.run(SECOND)
    t.comment(`${name}: ${stats.baseRttNs}, idle ${idle}`)
    t.ok(Math.abs(stats.baseRttNs - idle) < 0.2 * idle, `${name}: ${stats.baseRttNs / idle} of it`)
  }
})

usual('a flow that fell idle beside a load without telemetry measures anew when it resumes', async t => {
  const idle = idleNs()
  const it = star(10 * SECOND)
  const loads = load(it, 20e6)
  it.run(10 * MILLISECOND)
  const flow = it.connect(0, 'flow', 100_000, { name: 'fixed-window', options: { window: 20_000 } })
  const { stats } = flow.connection
  t.ok(stats.baseRttNs > 10 * idle, 'others’ queue is in it')
  while (!loads.every(({ done }) => done)) it.run(MILLISECOND)
  flow.start(it.network.now)
  it.run(10 * MILLISECOND)
  t.ok(flow.done)
  t.ok(Math.abs(stats.baseRttNs - idle) < 0.2 * idle, `${stats.baseRttNs / idle} of it`)
})

long(
  'two HPCC++ flows that connected beside a queue keep one as short as if there had been none',
  async t => {
    const mean = (beside: boolean) => {
      const it = star(10 * SECOND)
      const loads = beside ? load(it, 20e6) : []
      it.run(5 * MILLISECOND)
      const flows = [it.connect(0, 'a', 1e12), it.connect(1, 'b', 1e12)]
      while (!loads.every(({ done }) => done)) it.run(MILLISECOND)
      for (const flow of flows) flow.start(it.network.now)
      it.run(20 * MILLISECOND)
      return it.meanQueue(20 * MILLISECOND)
    }
    const idle = mean(false)
    const beside = mean(true)
    t.comment(`mean queue: connected while idle ${idle}, beside a queue ${beside} bytes`)
    t.ok(beside <= 2 * idle + 2048, `${beside} bytes, not ${idle}`)
  },
)

usual(
  'a plain peer that accepts after 591 ms: T follows acknowledgements, and nothing is flooded',
  async t => {
    for (const start of ['careful', 'line-rate'] as const) {
      const path = {
        rateBps: 10e9,
        rttNs: MILLISECOND,
        bufferBytes: 2e6,
        plainAcceptNs: 591 * MILLISECOND,
      }
      const config = {
        cc: { name: 'fixed-window', options: {} },
        baseRttNs: undefined,
        baseRttWindowNs: 10 * SECOND,
        ackEveryPackets: 1,
        start,
      }
      const outcome = write(path, config, 20e6, 1)
      t.comment(`${start}: T ${outcome.baseRttNs}, dropped ${outcome.droppedBytes}`)
      t.equal(outcome.error, null)
      t.ok(outcome.baseRttNs > 0.8e6 && outcome.baseRttNs < 1.2e6, `T ${outcome.baseRttNs}`)
      t.equal(outcome.droppedBytes, 0)
      t.ok(outcome.retransmittedBytes < 10_000)
    }
  },
)
