/** The receiving host as the last hop: it holds senders to what it can take in. */
import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { TrafficFlow } from '../../lib/traffic/traffic-flow.js'
import { TrafficSink } from '../../lib/traffic/traffic-sink.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { usual, variants } from '../support/long.js'
import { SlowHost } from './slow-host.js'

const LINE_BPS = 10e9
const SLOW_BPS = 2.5e9
const T_NS = 100_000
const QUEUE_BYTES_MAX = 400_000
const FLOWS = 8

interface Outcome {
  drops: number
  /** Longest queue in the second half of the run, when all send. */
  queueBytesMost: number
  rateBps: number
  retransmittedBytes: number
  implausible: number
  pathHops: number
  pathQueueBytes: number
}

/** Eight flows from one host to another whose CPU keeps up with a quarter of its link, one after the other, for 20 ms. */
function run(more: Partial<NicConfig>, hostHop: boolean): Outcome {
  const pool = new FramePool(8000, HEADER_SLOT_BYTES)
  const network = new Network({ pool })
  const random = new Random(5)
  const host = new SlowHost(pool, LINE_BPS, SLOW_BPS, QUEUE_BYTES_MAX)
  const nicOf = (address: string, hostIntake: NicConfig['hostIntake']) => {
    const source = random.fork(address)
    return new Nic({
      address: HostAddress.parse(address),
      pool,
      random: () => source.u32(),
      lineRateBps: LINE_BPS,
      pathMtu: 4096,
      icrc: 'off',
      baseRttNs: T_NS,
      ackTimeoutNs: 10_000_000,
      ...more,
      telemetry: { ...more.telemetry, hostHop },
      hostIntake,
    })
  }
  const sender = nicOf('10.0.0.1', undefined)
  const receiver = nicOf('10.0.0.2', host.intake)
  host.nic = receiver
  const from = network.addNode(sender)
  network.connect(from, 0, network.addNode(host), 0, T_NS / 2)
  new TrafficSink(receiver, 1 << 20, false)
  const flows = Array.from(
    { length: FLOWS },
    (_, i) =>
      new TrafficFlow(0, sender, receiver.address, { name: `${i}`, bytes: 1e9, storage: false, connect: {} }),
  )
  network.kick(from)
  network.runUntil(2_000_000)
  for (const flow of flows) {
    flow.start(network.now)
    network.kick(from)
    network.runUntil(network.now + 1_000_000)
  }
  network.runUntil(12_000_000)
  host.queueBytesMost = 0
  const before = host.takenBytes
  network.runUntil(22_000_000)
  const stats = flows.map(({ connection }) => connection.stats)
  const sum = (pick: (one: (typeof stats)[number]) => number) =>
    stats.reduce((all, one) => all + pick(one), 0)
  return {
    drops: host.drops,
    queueBytesMost: host.queueBytesMost,
    rateBps: ((host.takenBytes - before) * 8e9) / 10e6,
    retransmittedBytes: sum(one => one.retransmittedBytes),
    implausible: sum(one => one.implausibleTelemetry) + sender.counters.rx.implausibleTelemetry,
    pathHops: stats[0]!.pathHops,
    pathQueueBytes: Math.max(...stats.map(one => one.pathQueueBytes)),
  }
}

usual('without it a host that is slower than its link is overrun', async t => {
  const { drops, queueBytesMost, pathHops } = run({}, false)
  t.ok(drops > 100, `${drops} frames were lost`)
  t.ok(queueBytesMost > QUEUE_BYTES_MAX * 0.9, 'the queue is full for good')
  t.equal(pathHops, 0)
})

/**
 * The share of the losses without it that is allowed with it, most of them at the start: flows begin at line
 * rate.
 */
const SETTINGS: [string, Partial<NicConfig>, number][] = [
  ['wide', {}, 0.05],
  ['compact', { int: { format: 'compact', hops: 5 } }, 0.05],
  ['inserted by hops', { int: { format: 'p4-int-md', hops: 5 } }, 0.05],
  ['the busiest hop alone', { telemetry: { hops: 'busiest' } }, 0.05],
  ['by notifications', { telemetry: { answer: 'notify' } }, 0.05],
  ['by probes', { telemetry: { collect: 'probe' } }, 0.25],
  ['an acknowledgement for 16 packets', { ackEveryPackets: 16 }, 0.05],
  ['with a key', { secret: new Uint8Array(16).fill(7) }, 0.05],
  ['worked out by the receiver', { cc: { name: 'rx-hpcc', options: {} } }, 1.05],
]

for (const [what, more, lossShare] of variants(SETTINGS, 2)) {
  t.test(`${what}: it is used as far as it can be, and its queue has room`, async t => {
    const outcome = run(more, true)
    t.comment(JSON.stringify(outcome))
    t.ok(outcome.drops <= lossShare * run(more, false).drops, `${outcome.drops} frames were lost`)
    t.equal(outcome.implausible, 0, 'what it says is believed')
    t.ok(outcome.rateBps > 0.8 * SLOW_BPS, `${(outcome.rateBps / SLOW_BPS).toFixed(3)} of its rate`)
    // A round of 64 packets is 274 kB. Without the host hop the queue is full. Probes report it once in a
    // round trip.
    if (more.cc === undefined) {
      t.ok(outcome.queueBytesMost < 0.6 * QUEUE_BYTES_MAX, `${outcome.queueBytesMost} bytes waited at most`)
      t.equal(outcome.pathHops, 1)
    }
  })
}
