/** READ responses are paced by what the switches say: their telemetry comes back by NOTIFY packets. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access } from '../../lib/qp/memory.js'
import { WorkOpcode } from '../../lib/qp/work.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/address.js'
import { Switch } from '../../switch-emu/core/switch.js'

const MIB = 1 << 20
const READS = 20

/** A reader behind a link a tenth as fast as the server's: what the server sends at line rate queues at the switch. */
interface Links {
  /** Delay of each link, ns. */
  delayNs: number
  /** Room of the queue towards the reader; what does not fit is dropped. */
  queueBytes: number
  silent: boolean
}
const SHORT: Links = { delayNs: 5000, queueBytes: 100e6, silent: false }

function readAll(cc: string, { delayNs, queueBytes, silent }: Links = SHORT) {
  const random = new Random(1)
  const pool = new FramePool(50_000, 512)
  const network = new Network({ pool })
  const addresses = [HostAddress.parse('10.0.0.1'), HostAddress.parse('10.0.0.2')] as const
  const nics = addresses.map(
    (address, i) =>
      new Nic({
        address,
        pool,
        random: () => random.u32(),
        lineRateBps: i === 0 ? 1e9 : 10e9,
        pathMtu: 1024,
        icrc: 'off',
        cc: { name: cc, options: {} },
        baseRttNs: 4 * delayNs + 10_000,
        int: { format: 'wide', hops: 1 },
      }),
  )
  const [reader, server] = nics as [Nic, Nic]
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps: 1e9, queueBytesMax: queueBytes }, { rateBps: 10e9 }],
    bufferBytes: 100e6,
    writesTelemetry: !silent,
    pool,
    random: () => 0,
  })
  const ids = nics.map(nic => network.addNode(nic))
  const swId = network.addNode(sw)
  for (const [i, address] of addresses.entries()) {
    sw.routes.set(address, [i])
    network.connect(ids[i]!, 0, swId, i, delayNs)
  }
  const source = server.memory.register(null, READS * MIB, Access.REMOTE_READ)
  const sink = reader.memory.register(null, READS * MIB, Access.LOCAL_WRITE)
  const serving: Connection[] = []
  const idle: ConnectionHandler = {
    onEstablished: (_now, connection) => {
      serving.push(connection)
    },
    onCompletion: () => {},
    onClosed: () => {},
  }
  server.listen(1, { accept: () => idle })
  let done = 0
  reader.connect(0, addresses[1], 1, {
    onEstablished: (now, connection) => {
      for (let id = 0; id < READS; id++) {
        const work = { id, opcode: WorkOpcode.RDMA_READ, region: sink, offset: id * MIB, length: MIB }
        connection.postSend(now, { ...work, remoteAddress: source.address + id * MIB, rkey: source.key })
      }
    },
    onCompletion: (now, connection, completion) => {
      done += completion.status === 0 ? 1 : 0
      if (done === READS) connection.disconnect(now)
    },
    onClosed: () => {},
  })
  network.kick(ids[0]!)
  let serverRateBps = 0
  while (done < READS && network.step()) serverRateBps = serving[0]?.stats.rateBps ?? serverRateBps
  const { maxQueueBytes, drops } = sw.report(network.now, 0)
  const seconds = network.now / 1e9
  network.runUntil(network.now + 1e9)
  return { peakQueue: maxQueueBytes, done, serverRateBps, inUse: pool.inUse, drops, seconds }
}

t.test('HPCC++ holds the serving side to the link, a fixed window does not', async t => {
  const fixed = readAll('fixed-window')
  const hpcc = readAll('hpcc')
  t.equal(fixed.done, READS)
  t.equal(hpcc.done, READS)
  // 8,192 packets of 1 KiB may be outstanding: at ten times the link's rate nearly all of them queue.
  t.ok(fixed.peakQueue > 6 * MIB, `${fixed.peakQueue} bytes`)
  // The first round trip at line rate is 30 us x 10 Gbit/s = 37.5 KB; a few of those, not megabytes.
  t.ok(hpcc.peakQueue < 0.2 * MIB, `${hpcc.peakQueue} bytes`)
  t.ok(hpcc.serverRateBps < 1.5e9, `${hpcc.serverRateBps} bit/s`)
  t.equal(hpcc.inUse, 0)
  t.equal(fixed.inUse, 0)
})

t.test(
  'without telemetry of switches CUBIC paces the serving side: notifications acknowledge, what is asked for again was lost',
  async t => {
    // 1 Gbit/s and 2.04 ms: 255,000 bytes, and a queue of as many.
    const links = { delayNs: 500_000, queueBytes: 255_000, silent: true }
    const cubic = readAll('cubic', links)
    t.equal(cubic.done, READS)
    const goodputBps = (READS * MIB * 8) / cubic.seconds
    t.ok(goodputBps > 0.5e9, `${goodputBps} bit/s, slow start included`)
    // Slow start goes beyond what link and queue hold, 498 packets, by at most as much; at line rate 15 of 16 are dropped.
    t.ok(cubic.drops < 1100, `${cubic.drops} of 20,480 responses were dropped`)
    t.equal(cubic.inUse, 0)
  },
)
