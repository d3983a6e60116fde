/** Real sockets: a receiver that is slower than its sender, as a hop of the path and not as one. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { Nic } from '../../lib/nic/nic.js'
import { Random } from '../../lib/sim/random.js'
import { TrafficFlow } from '../../lib/traffic/traffic-flow.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { freePort, until } from '../io/helpers.js'
import { loopbackAddress } from '../support/loopback.js'
import type { SlowReceiverReport, SlowReceiverSettings } from './slow-receiver.js'

const BYTES = 16 << 20
const LINE_BPS = 10e9
const T_NS = 1_000_000
const ACTIVE = loopbackAddress()
const PASSIVE = loopbackAddress()

interface Outcome extends SlowReceiverReport {
  retransmittedBytes: number
  pathHops: number
  mostQueueBytes: number
  implausible: number
  /** For information only. */
  milliseconds: number
}

async function send(hostHop: boolean): Promise<Outcome> {
  const rocePort = freePort()
  const settings: SlowReceiverSettings = {
    address: PASSIVE,
    rocePort,
    hostHop,
    lineRateBps: LINE_BPS,
    baseRttNs: T_NS,
    packetNs: 30_000,
    socketBufferBytes: 200_000,
  }
  const worker = new Worker(new URL('./slow-receiver.js', import.meta.url), { workerData: settings })
  await once(worker, 'message')
  const pool = new FramePool(2048, undefined, RECEIVER_ROOM_BYTES)
  const port = new BatchPort({ pool, address: ACTIVE, rocePort, intPort: rocePort + 1 })
  const random = new Random(1)
  // No receive budget is announced, so only the host's own record holds the sender.
  const nic = new Nic({
    address: HostAddress.parse(ACTIVE),
    pool,
    random: () => random.u32(),
    lineRateBps: LINE_BPS,
    baseRttNs: T_NS,
    pathMtu: 4096,
    // On a busy machine the receiver's thread may not run for long.
    ackTimeoutNs: 268_435_456,
    slackNs: 1_000_000,
    sourcePorts: port.sourcePorts,
  })
  const loop = new HostLoop({ node: nic, port })
  loop.start()
  const flow = new TrafficFlow(loop.now(), nic, HostAddress.parse(PASSIVE), {
    name: 'f',
    bytes: BYTES,
    storage: true,
    connect: {},
  })
  loop.wake()
  await until(() => flow.established)
  flow.start(loop.now())
  loop.wake()
  let mostQueueBytes = 0
  await until(() => {
    mostQueueBytes = Math.max(mostQueueBytes, flow.connection.stats.pathQueueBytes)
    return flow.done
  })
  const { retransmittedBytes, pathHops } = flow.connection.stats
  if (flow.error !== null) throw flow.error
  worker.postMessage('end')
  const [report] = (await once(worker, 'message')) as [SlowReceiverReport]
  await once(worker, 'exit')
  loop.close()
  await port.close()
  const implausible = nic.counters.rx.implausibleTelemetry
  const milliseconds = Math.round((flow.endNs - flow.startNs) / 1e6)
  return { ...report, retransmittedBytes, pathHops, mostQueueBytes, implausible, milliseconds }
}

/**
 * The machine may give either thread so little time that nothing queues. test/nic/host-hop.test.ts has a
 * clock of its own.
 */
const ATTEMPTS = 5

t.test('the kernel drops less, and less is retransmitted', { skip: libcFault() ?? false }, async t => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const without = await send(false)
    const held = await send(true)
    t.comment(JSON.stringify({ without, held }))
    t.same([without.pathHops, held.pathHops], [0, 1])
    if (without.kernelDrops < 100 || held.mostQueueBytes === 0) continue
    if (held.kernelDrops > without.kernelDrops / 2) continue
    if (held.retransmittedBytes < without.retransmittedBytes / 2) return
  }
  t.pass('it did not happen', {
    skip: `in none of ${ATTEMPTS} attempts: the machine is busy with other things`,
  })
})
