/** Weir's flows and the kernel's TCP on one bottleneck, in virtual time. */
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import type { ConnectionHandler } from '../../lib/nic/types.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Bottleneck, HOST_RATE_BPS, MTU, type PathOptions, PORT, Writer } from './bottleneck.js'
import { LinuxReceiver, LinuxSender, SEGMENT_BYTES } from './linux-tcp.js'

export interface FlowPlan {
  kind: 'weir' | 'tcp'
  startNs: Nanos
}

export interface FlowOutcome {
  /** Payload bytes delivered at the end of each tenth of a second. */
  bytes: number[]
  droppedPackets: number
  retransmitted: number
  timeouts: number
}

export const WEIR_PACKET_BYTES = MTU

/** As in a daemon. */
export const DAEMON: Partial<NicConfig> = {
  cc: { name: 'cubic', options: {} },
  start: 'careful',
  ackEveryPackets: 16,
  packetsInFlightMax: 32_768,
  reorderPackets: 65_536,
  queueDepth: 512,
  retransmitTimeoutLeastNs: 20 * MILLISECOND,
  baseRttNs: undefined,
  baseRttWindowNs: 10 * SECOND,
}
const TICK = 100 * MILLISECOND
const TICKS_PER_SECOND = 10
const MESSAGE_BYTES = 16 * MTU

/** Mean goodput from a time on, in seconds. */
export function goodputBps({ bytes }: FlowOutcome, fromSeconds = 0): number {
  const from = fromSeconds * TICKS_PER_SECOND
  return ((bytes.at(-1)! - bytes[from]!) * 8 * TICKS_PER_SECOND) / (bytes.length - 1 - from)
}

/** What the flows did. Times count from when all connections of Weir are established. */
export function beside(
  path: PathOptions,
  plans: readonly FlowPlan[],
  seconds: number,
  seed: number,
  config: Partial<NicConfig> = DAEMON,
): FlowOutcome[] {
  return besideWithQueue(path, plans, seconds, seed, config).flows
}

/** The same, with what came to the queue and what it dropped. */
export function besideWithQueue(
  path: PathOptions,
  plans: readonly FlowPlan[],
  seconds: number,
  seed: number,
  config: Partial<NicConfig>,
): { flows: FlowOutcome[]; queue: Bottleneck } {
  const random = new Random(seed)
  const pool = new FramePool(120_000, 512)
  const network = new Network({ pool, startNs: 1000 })
  const luck = random.fork('path')
  const bottleneck = new Bottleneck(path, pool, () => luck.next())
  const middle = network.addNode(bottleneck)
  const beganNs = SECOND
  bottleneck.startNs = beganNs
  const flows = plans.map(({ kind, startNs }, i) => {
    const link = Math.round(path.rttNs / 4)
    const join = (sender: number, receiver: number) => {
      network.connect(sender, 0, middle, 2 * i, link)
      network.connect(middle, 2 * i + 1, receiver, 0, link)
    }
    if (kind === 'tcp') {
      const sender = new LinuxSender(pool, beganNs + startNs)
      const receiver = new LinuxReceiver(pool)
      const id = network.addNode(sender)
      join(id, network.addNode(receiver))
      network.kick(id)
      return {
        start: () => {},
        bytes: () => receiver.received * SEGMENT_BYTES,
        figures: () => ({ retransmitted: sender.retransmitted, timeouts: sender.timeouts }),
      }
    }
    const [a, b] = [1, 2].map(host => {
      const source = random.fork(`nic ${i} ${host}`)
      return new Nic({
        address: HostAddress.parse(`10.0.${i}.${host}`),
        pool,
        random: () => source.u32(),
        lineRateBps: HOST_RATE_BPS,
        icrc: 'off',
        pathMtu: MTU,
        ackTimeoutNs: 268_435_456,
        ...config,
      })
    }) as [Nic, Nic]
    const id = network.addNode(a)
    join(id, network.addNode(b))
    const target = b.memory.register(null, MESSAGE_BYTES, Access.REMOTE_WRITE)
    const writer = new Writer(a, 1e12, MESSAGE_BYTES, target)
    const sink: ConnectionHandler = { onEstablished() {}, onCompletion() {}, onClosed() {} }
    b.listen(PORT, { accept: () => sink })
    a.connect(network.now, b.address, PORT, writer)
    network.kick(id)
    return {
      start: () => {
        writer.start(network.now)
        network.kick(id)
      },
      bytes: () => writer.doneBytes,
      figures: () => {
        const { stats } = writer.connection!
        return { retransmitted: stats.retransmittedBytes / MTU, timeouts: stats.timeouts }
      },
    }
  })
  const outcomes: FlowOutcome[] = plans.map(() => ({
    bytes: [0],
    droppedPackets: 0,
    retransmitted: 0,
    timeouts: 0,
  }))
  const starts = plans
    .map(({ startNs }, i) => ({ atNs: beganNs + startNs, start: flows[i]!.start }))
    .sort((a, b) => a.atNs - b.atNs)
  for (let tick = 1; tick * TICK <= seconds * SECOND; tick++) {
    const atNs = beganNs + tick * TICK
    while (starts.length > 0 && starts[0]!.atNs < atNs) {
      const { atNs: startNs, start } = starts.shift()!
      network.runUntil(startNs)
      start()
    }
    network.runUntil(atNs)
    for (const [i, { bytes }] of flows.entries()) outcomes[i]!.bytes.push(bytes())
  }
  for (const [i, { figures }] of flows.entries()) {
    Object.assign(outcomes[i]!, figures(), { droppedPackets: bottleneck.droppedOf[2 * i] ?? 0 })
  }
  return { flows: outcomes, queue: bottleneck }
}
