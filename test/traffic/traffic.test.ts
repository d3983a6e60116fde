/** Flows of a scenario over the virtual network: exact bytes, and how they fail. */
import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { SECOND } from '../../lib/time/nanos.js'
import { TrafficFlow, type TrafficFlowOptions } from '../../lib/traffic/traffic-flow.js'
import { readSinkMemory, TRAFFIC_PORT, TrafficSink } from '../../lib/traffic/traffic-sink.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const RATE_BPS = 10e9
const DELAY_NS = 2000

interface World {
  pool: FramePool
  network: Network
  nics: [Nic, Nic]
  /** Creates a flow from the first NIC to the second and runs until it is established, or has failed. */
  flow(options: Partial<TrafficFlowOptions>): TrafficFlow
  run(holds: () => boolean): boolean
  start(flow: TrafficFlow): void
}

function world(options: { storage?: boolean; loss?: number; nic?: Partial<NicConfig> } = {}): World {
  const { storage = false, loss = 0 } = options
  const pool = storage ? new FramePool(4000) : new FramePool(4000, HEADER_SLOT_BYTES)
  const network = new Network({ pool })
  const random = new Random(3)
  const nics = ['10.0.0.1', '10.0.0.2'].map(address => {
    const source = random.fork(address)
    return new Nic({
      address: HostAddress.parse(address),
      pool,
      random: () => source.u32(),
      lineRateBps: RATE_BPS,
      icrc: storage ? 'whole' : 'off',
      ackTimeoutNs: 1_000_000,
      ...options.nic,
    })
  }) as [Nic, Nic]
  const ids = nics.map(nic => network.addNode(nic))
  const fault = random.fork('faults')
  const faults = () => new LinkFaults({ loss }, () => fault.next())
  network.connect(ids[0]!, 0, ids[1]!, 0, DELAY_NS, { ab: faults(), ba: faults() })
  const run = (holds: () => boolean) => {
    const end = network.now + 200 * SECOND
    while (!holds() && network.now < end && network.step()) {
      // goes on
    }
    return holds()
  }
  return {
    pool,
    network,
    nics,
    run,
    flow(more) {
      const made = new TrafficFlow(network.now, nics[0], nics[1].address, {
        name: 'f',
        bytes: 1000,
        storage,
        connect: {},
        ...more,
      })
      network.kick(ids[0]!)
      run(() => made.established || made.done)
      return made
    },
    start(flow) {
      flow.start(network.now)
      network.kick(ids[0]!)
    },
  }
}

for (const storage of [false, true]) {
  t.test(
    `${storage ? 'real' : 'counted'} payload: exact bytes, for any size of flow and message`,
    async t => {
      for (const [bytes, messageBytes] of [
        [0, undefined],
        [1, undefined],
        [1023, 100],
        [1024, 1024],
        [1025, 1024],
        [100_000, 7777],
        [3_000_001, undefined],
      ] as const) {
        const { network, nics, pool, flow, start, run } = world({ storage })
        new TrafficSink(nics[1], 1 << 20, storage)
        let told = 0
        const made = flow({ bytes, ...(messageBytes && { messageBytes }), onDone: () => told++ })
        t.equal(made.established, true)
        network.runUntil(network.now + SECOND)
        t.equal(made.startNs, -1, 'it waits to be started')
        t.equal(made.ackedBytes, 0)
        const began = network.now
        start(made)
        t.ok(run(() => made.done))
        t.equal(made.error, null)
        t.equal(told, 1)
        t.equal(made.startNs, began)
        t.equal(made.ackedBytes, bytes)
        t.equal(made.connection.stats.sentBytes, bytes, 'each byte was sent once')
        t.equal(made.connection.stats.retransmittedBytes, 0)
        t.ok(made.endNs - made.startNs >= 2 * DELAY_NS + (bytes * 8e9) / RATE_BPS, 'not faster than light')
        made.close(network.now)
        network.runUntil(network.now + 100 * SECOND)
        t.equal(told, 1, 'closing is no second end')
        t.equal(made.error, null)
        t.equal(nics[0].table.count + nics[1].table.count, 0)
        t.equal(nics[0].memory.size, 0, 'its memory is gone')
        t.equal(pool.inUse, 0)
      }
    },
  )
}

t.test('a sink smaller than a message: the messages shrink', async t => {
  const { nics, flow, start, run } = world({ storage: true })
  new TrafficSink(nics[1], 3000, true)
  const made = flow({ bytes: 10_000 })
  start(made)
  t.ok(run(() => made.done))
  t.equal(made.error, null)
  t.equal(made.ackedBytes, 10_000)
})

t.test('loss on the way: the bytes are exact all the same, and retransmissions are reported', async t => {
  const { nics, flow, start, run } = world({ loss: 0.02 })
  new TrafficSink(nics[1], 1 << 20, false)
  const made = flow({ bytes: 2_000_000 })
  start(made)
  t.ok(run(() => made.done))
  t.equal(made.error, null)
  t.equal(made.ackedBytes, 2_000_000)
  const { sentBytes, retransmittedBytes } = made.connection.stats
  t.ok(retransmittedBytes > 0)
  t.equal(sentBytes - retransmittedBytes, 2_000_000)
})

t.test('nobody there', async t => {
  const { flow, nics } = world()
  let told = 0
  const made = flow({ onDone: () => told++ })
  t.equal(made.done, true)
  t.equal(made.error?.code, 'WEIR_REJECTED')
  t.equal(told, 1)
  t.equal(nics[0].memory.size, 0)
  made.start(5)
  t.equal(made.startNs, -1, 'starting it has no effect')
})

t.test('a listener that is no sink', async t => {
  for (const words of [new Uint8Array(0), new Uint8Array(20), new Uint8Array(7)]) {
    const { nics, run, network } = world()
    nics[1].listen(TRAFFIC_PORT, {
      accept: () => ({ acceptData: () => words, onEstablished() {}, onCompletion() {}, onClosed() {} }),
    })
    const made = new TrafficFlow(0, nics[0], nics[1].address, {
      name: 'f',
      bytes: 10,
      storage: false,
      connect: {},
    })
    network.kick(0)
    t.ok(run(() => made.done))
    t.equal(made.error?.code, 'WEIR_PROTOCOL')
    t.equal(made.established, false)
  }
})

t.test('starting too early, or twice, throws', async t => {
  const { nics, network, flow, start, run } = world()
  new TrafficSink(nics[1], 1 << 20, false)
  const early = new TrafficFlow(0, nics[0], nics[1].address, {
    name: 'early',
    bytes: 10,
    storage: false,
    connect: {},
  })
  t.throws(() => early.start(0), { code: 'WEIR_BAD_STATE', message: /early/ })
  const made = flow({ name: 'twice', bytes: 100_000 })
  start(made)
  const began = network.now
  t.throws(() => made.start(network.now + 5), { code: 'WEIR_BAD_STATE', message: /twice/ })
  t.ok(run(() => made.done))
  t.equal(made.startNs, began)
  t.equal(made.connection.stats.sentBytes, 100_000)
})

t.test('a connection that ends before the flow: reported once, with a reason', async t => {
  for (const how of ['closed here', 'closed there', 'refused memory'] as const) {
    const { nics, network, flow, start, run } = world()
    const sink = new TrafficSink(nics[1], 1 << 20, false)
    let told = 0
    const made = flow({ bytes: 50_000_000, onDone: () => told++ })
    if (how === 'refused memory') {
      const { rkey } = readSinkMemory(made.connection.peerPrivateData)!
      nics[1].memory.deregister(nics[1].memory.find(rkey)!)
    }
    start(made)
    network.runUntil(network.now + 1_000_000)
    if (how === 'closed here') made.close(network.now)
    if (how === 'closed there') {
      for (const other of nics[1].table.flows) other?.connection.disconnect(network.now)
      network.kick(1)
    }
    network.kick(0)
    t.ok(
      run(() => made.done && nics[0].table.count === 0),
      how,
    )
    t.equal(made.error?.code, 'WEIR_CONNECTION_LOST', how)
    t.equal(told, 1, how)
    t.equal(made.endNs, -1, 'it has no completion time')
    t.ok(made.ackedBytes < 50_000_000)
    t.equal(nics[0].memory.size, 0)
    t.ok(sink)
  }
})

t.test("a sink's words, read back", async t => {
  const words = Buffer.alloc(20)
  words.writeUInt32BE(0xdeadbeef, 0)
  words.writeBigUInt64BE(0x10000n, 4)
  words.writeBigUInt64BE(0x100000n, 12)
  t.same(readSinkMemory(words), { rkey: 0xdeadbeef, address: 0x10000, length: 0x100000 })
  t.equal(readSinkMemory(words.subarray(0, 19)), null)
  words.writeBigUInt64BE(2n ** 60n, 12)
  t.equal(readSinkMemory(words), null, 'a length that no number holds')
  words.writeBigUInt64BE(0n, 12)
  t.equal(readSinkMemory(words), null, 'no memory at all')
})
