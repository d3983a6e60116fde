/** A receiver on a thread of its own that needs more time for each packet than a sender does: for slow-receiver.test.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { monotonicNs } from '../../lib/io/clock.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { Intake } from '../../lib/io/loop/intake.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { Nic } from '../../lib/nic/nic.js'
import { Random } from '../../lib/sim/random.js'
import { TrafficSink } from '../../lib/traffic/traffic-sink.js'
import { HostAddress } from '../../lib/wire/net/address.js'

export interface SlowReceiverSettings {
  address: string
  rocePort: number
  hostHop: boolean
  lineRateBps: number
  baseRttNs: number
  /** Time for each packet in addition to what it needs. */
  packetNs: number
  socketBufferBytes: number
}

export interface SlowReceiverReport {
  kernelDrops: number
  frames: number
}

if (parentPort !== null) receive(workerData as SlowReceiverSettings)

function receive(settings: SlowReceiverSettings): void {
  const { address, rocePort, hostHop, lineRateBps, baseRttNs, packetNs, socketBufferBytes } = settings
  const pool = new FramePool(2048, undefined, RECEIVER_ROOM_BYTES)
  const port = new BatchPort({ pool, address, rocePort, intPort: rocePort + 1, socketBufferBytes })
  const intake = new Intake(lineRateBps, port.receiveBudgetBytes)
  const random = new Random(2)
  const nic = new Nic({
    address: HostAddress.parse(address),
    pool,
    random: () => random.u32(),
    lineRateBps,
    baseRttNs,
    pathMtu: 4096,
    ackEveryPackets: 16,
    ackTimeoutNs: 268_435_456,
    slackNs: 1_000_000,
    sourcePorts: port.sourcePorts,
    telemetry: { hostHop },
    hostIntake: intake,
  })
  const node = {
    onFrame(now: number, from: number, frame: Frame): void {
      const end = monotonicNs() + packetNs
      while (monotonicNs() < end) {
        // Like a host that does more with each packet.
      }
      nic.onFrame(now, from, frame)
    },
    onTimeout: (now: number) => nic.onTimeout(now),
    nextTimeout: () => nic.nextTimeout(),
    pollTransmit: (now: number) => nic.pollTransmit(now),
  }
  const loop = new HostLoop({ node, port, intake })
  new TrafficSink(nic, 1 << 20, true)
  loop.start()
  const channel = parentPort!
  channel.postMessage('ready')
  channel.once('message', async () => {
    loop.close()
    await port.close()
    const { drops, rxFrames } = port.counters
    channel.postMessage({ kernelDrops: drops.kernelFull, frames: rxFrames } satisfies SlowReceiverReport)
    channel.close()
  })
}
