/**
 * Whole hosts over a bad network: NICs, connection manager and a switch in virtual time, with real payloads
 * and ICRCs. Whatever the links do, every message arrives exactly once with the right bytes, and nothing
 * leaks. The hosts use selective repeat, or one of them supports only go-back-N.
 * SEED=n replays one seed.
 */
import t, { type Test } from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECOVERIES, type Recovery } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type Completion, WorkStatus } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { type FaultRates, LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { fixedSeeds, isReplay } from '../support/seeds.js'

const PORT = 7000
const MESSAGES = 60
const MESSAGE_MAX = 20_000
const MTUS = [256, 512, 1024, 2048, 4096]
/** Messages contain their number, by which the receiver identifies them. */
const SERIAL_BYTES = 8

/** Words whose low 24 bits are just below the wrap, and so are the PSNs drawn from them. */
function nearWrap(random: Random): () => number {
  return () => ((random.u32() & 0xff0000ff) | 0x00ffff00) >>> 0
}

/** The receiving side: receives SENDs into slots, and checks each by its serial number. */
class Receiver implements ConnectionHandler {
  readonly serials: number[] = []
  readonly target: MemoryRegion
  readonly #slots: MemoryRegion
  closed = 0

  constructor(nic: Nic) {
    this.#slots = nic.memory.register(Buffer.alloc(8 * MESSAGE_MAX), 8 * MESSAGE_MAX, Access.LOCAL_WRITE)
    const access = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
    this.target = nic.memory.register(Buffer.alloc(MESSAGES * MESSAGE_MAX), MESSAGES * MESSAGE_MAX, access)
  }

  onCreated(_now: number, connection: Connection): void {
    for (let slot = 0; slot < 8; slot++) this.#post(connection, slot)
  }

  onEstablished(): void {}

  onCompletion(_now: number, connection: Connection, completion: Completion): void {
    if (completion.status !== WorkStatus.SUCCESS) return
    const slot = completion.id
    if (completion.hasImmediate) {
      this.serials.push(completion.immediate)
    } else {
      const bytes = this.#slots.buffer!.subarray(
        slot * MESSAGE_MAX,
        slot * MESSAGE_MAX + completion.byteLength,
      )
      const serial = Number(bytes.readBigUInt64BE(0))
      this.serials.push(bytes.equals(contents(serial, completion.byteLength)) ? serial : -1)
    }
    this.#post(connection, slot)
  }

  onClosed(): void {
    this.closed++
  }

  #post(connection: Connection, slot: number): void {
    connection.postReceive({ id: slot, region: this.#slots, offset: slot * MESSAGE_MAX, length: MESSAGE_MAX })
  }
}

/** The contents of message `serial`: its number, then bytes that depend on it. */
function contents(serial: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (serial * 31 + i * 7) & 0xff
  if (length >= SERIAL_BYTES) bytes.writeBigUInt64BE(BigInt(serial), 0)
  return bytes
}

interface Planned {
  opcode: WorkOpcode
  length: number
}

/** The sending side: posts every planned message as there is room, and records completions. */
class Sender implements ConnectionHandler {
  readonly completed: { id: number; status: number }[] = []
  readonly source: MemoryRegion
  readonly sink: MemoryRegion
  error: unknown = null
  closed = 0
  #next = 0

  readonly plan: readonly Planned[]
  readonly target: MemoryRegion

  constructor(nic: Nic, plan: readonly Planned[], target: MemoryRegion) {
    this.plan = plan
    this.target = target
    const bytes = Buffer.concat(
      plan.map(({ length }, i) => Buffer.concat([contents(i, length)], MESSAGE_MAX)),
    )
    this.source = nic.memory.register(bytes, bytes.length, Access.LOCAL_WRITE)
    this.sink = nic.memory.register(Buffer.alloc(bytes.length), bytes.length, Access.LOCAL_WRITE)
  }

  onEstablished(now: number, connection: Connection): void {
    this.#post(now, connection)
  }

  onCompletion(now: number, connection: Connection, completion: Completion): void {
    this.completed.push({ id: completion.id, status: completion.status })
    if (this.completed.length === this.plan.length) connection.disconnect(now)
    else this.#post(now, connection)
  }

  onClosed(_now: number, _connection: Connection, error: unknown): void {
    this.closed++
    this.error = error
  }

  #post(now: number, connection: Connection): void {
    while (this.#next < this.plan.length) {
      if (!connection.postSend(now, this.#work(this.#next))) return
      this.#next++
    }
  }

  #work(id: number): SendWork {
    const { opcode, length } = this.plan[id]!
    const offset = id * MESSAGE_MAX
    const remote = { remoteAddress: this.target.address + offset, rkey: this.target.key }
    const region = opcode >= WorkOpcode.RDMA_READ ? this.sink : this.source
    const work: SendWork = { id, opcode, region, offset, length }
    if (opcode >= WorkOpcode.RDMA_WRITE) Object.assign(work, remote)
    if (opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) work.immediate = id
    if (opcode === WorkOpcode.FETCH_AND_ADD) {
      work.remoteAddress = this.target.address
      work.compareOrAdd = 1n
    }
    return work
  }
}

function planOf(random: Random): Planned[] {
  const kinds = [
    WorkOpcode.SEND,
    WorkOpcode.RDMA_WRITE,
    WorkOpcode.RDMA_WRITE_WITH_IMM,
    WorkOpcode.RDMA_READ,
    WorkOpcode.FETCH_AND_ADD,
  ]
  return Array.from({ length: MESSAGES }, () => {
    const opcode = kinds[random.below(kinds.length)]!
    const length =
      opcode === WorkOpcode.FETCH_AND_ADD ? 8 : SERIAL_BYTES + random.below(MESSAGE_MAX - SERIAL_BYTES)
    return { opcode, length }
  })
}

interface World {
  pool: FramePool
  network: Network
  sender: Sender
  receiver: Receiver
  plan: Planned[]
  faults: LinkFaults[]
}

/** Two hosts and a switch; the first host's link damages frames in both directions. */
function build(seed: number, rates: FaultRates, recovery: Recovery): World {
  const random = new Random(seed)
  const pool = new FramePool(2_000)
  const network = new Network({ pool })
  const addresses = [HostAddress.parse('10.0.0.1'), HostAddress.parse('10.0.0.2')] as const
  const pathMtu = MTUS[random.below(MTUS.length)]!
  const nics = addresses.map(
    (address, i) =>
      new Nic({
        address,
        pool,
        random: nearWrap(random.fork(`nic ${i}`)),
        lineRateBps: 1e9,
        pathMtu,
        ackEveryPackets: 1 + random.below(8),
        ackTimeoutNs: 1_000_000,
        queueDepth: 16,
        // Both must support it.
        recovery: i === 0 ? 'selective' : recovery,
      }),
  )
  const fault = random.fork('faults')
  const faults = Array.from({ length: 2 }, () => new LinkFaults(rates, () => fault.next()))
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps: 1e9 }, { rateBps: 1e9 }],
    bufferBytes: 1e6,
    pool,
    random: () => fault.next(),
  })
  const ids = nics.map(nic => network.addNode(nic))
  const swId = network.addNode(sw)
  for (const [i, address] of addresses.entries()) {
    sw.routes.set(address, [i])
    // One link causes all damage, so that the rates are those of the whole path.
    network.connect(ids[i]!, 0, swId, i, 5_000, i === 0 ? { ab: faults[0]!, ba: faults[1]! } : undefined)
  }
  const receiver = new Receiver(nics[1]!)
  nics[1]!.listen(PORT, { accept: () => receiver })
  const plan = planOf(random.fork('plan'))
  // The memory of the READs and the atomic is written beforehand.
  for (const [i, { opcode, length }] of plan.entries()) {
    if (opcode === WorkOpcode.RDMA_READ) contents(i, length).copy(receiver.target.buffer!, i * MESSAGE_MAX)
  }
  receiver.target.buffer!.writeBigUInt64BE(0n, 0)
  plan[0] = { opcode: WorkOpcode.SEND, length: 100 }
  const sender = new Sender(nics[0]!, plan, receiver.target)
  nics[0]!.connect(0, addresses[1], PORT, sender)
  network.kick(ids[0]!)
  return { pool, network, sender, receiver, plan, faults }
}

/** Runs until both ends are closed. Throws when that takes longer than with any sound protocol. */
function drive(world: World): void {
  const { network, sender, receiver } = world
  while (sender.closed === 0 || receiver.closed === 0) {
    if (network.now > 2000 * SECOND || !network.step()) return
  }
}

function check(t: Test, world: World): void {
  const { sender, receiver, plan, pool, network } = world
  t.equal(sender.error, null, 'the connection ended in order')
  t.equal(sender.closed, 1, 'the sender heard of the end once')
  t.equal(receiver.closed, 1, 'the receiver heard of the end once')
  const expected = plan.map((_, id) => ({ id, status: WorkStatus.SUCCESS }))
  t.same(sender.completed, expected, 'each work request completed once, in order')
  const arrivals = [...plan.entries()]
    .filter(([, { opcode }]) => opcode === WorkOpcode.SEND || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM)
    .map(([id]) => id)
  t.same(receiver.serials, arrivals, 'each message arrived once, in order, exact')
  let adds = 0
  for (const [id, { opcode, length }] of plan.entries()) {
    const at = id * MESSAGE_MAX
    if (opcode === WorkOpcode.RDMA_WRITE || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) {
      const there = receiver.target.buffer!.subarray(at, at + length)
      if (!there.equals(contents(id, length))) t.fail(`WRITE ${id} were damaged`)
    } else if (opcode === WorkOpcode.RDMA_READ) {
      const here = sender.sink.buffer!.subarray(at, at + length)
      if (!here.equals(contents(id, length))) t.fail(`READ ${id} were damaged`)
    } else if (opcode === WorkOpcode.FETCH_AND_ADD) {
      const before = sender.sink.buffer!.readBigUInt64LE(at)
      if (before !== BigInt(adds++)) t.fail(`FETCH_AND_ADD ${id} found ${before}, not ${adds - 1}`)
    }
  }
  t.equal(receiver.target.buffer!.readBigUInt64LE(0), BigInt(adds), 'every addition was carried out once')
  network.runUntil(network.now + SECOND)
  t.equal(pool.inUse, 0, 'every frame was handed back')
}

const WEATHERS: Record<string, FaultRates> = {
  fair: {},
  'loss 1 %': { loss: 0.01 },
  'loss 10 %': { loss: 0.1 },
  reordering: { reorder: 0.1, reorderNs: 100_000 },
  duplication: { duplication: 0.1 },
  corruption: { corruption: 0.05 },
  storm: { loss: 0.03, reorder: 0.05, reorderNs: 50_000, duplication: 0.03, corruption: 0.02 },
}

/** Tests hosts over each bad network by each of these seeds. */
export function sweep(seeds: readonly number[]): void {
  for (const recovery of RECOVERIES) {
    for (const [weather, rates] of Object.entries(WEATHERS)) {
      for (const seed of fixedSeeds(seeds)) {
        t.test(`${recovery}, ${weather}, seed ${seed}`, async t => {
          const world = build(seed, rates, recovery)
          drive(world)
          check(t, world)
          // A replayed seed may meet no fault.
          if (isReplay) return
          const { faults } = world
          const hit = (of: keyof LinkFaults) => faults.reduce((sum, fault) => sum + Number(fault[of]), 0)
          if (rates.loss) t.ok(hit('lost') > 0, 'frames were lost')
          if (rates.corruption) t.ok(hit('corrupted') > 0, 'frames were damaged')
          if (rates.duplication) t.ok(hit('duplicated') > 0, 'frames were doubled')
          if (rates.reorder) t.ok(hit('reordered') > 0, 'frames were overtaken')
        })
      }
    }
  }
}
