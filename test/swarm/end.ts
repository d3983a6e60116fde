/** One end of a connection of the swarm: posts its work, and checks each completion and each message. */
import type { WeirError } from '../../lib/errors.js'
import type { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type Completion, WorkStatus } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { ReceiveCount, SendOrder } from './checks/completions.js'
import { checkClosed } from './checks/ends.js'
import type { Fail } from './checks/fail.js'
import { checkInvalidated, checkKept } from './checks/invalidation.js'
import { checkArrival, checkBytes } from './checks/messages.js'
import type { Retransmissions } from './checks/retransmissions.js'
import { type AtomicStep, checkFound, checkWords, WORD_BYTES, WORDS, WordModel } from './checks/words.js'
import { MESSAGE_MAX } from './limits.js'
import type { WorkPlan } from './plan.js'

/** Bytes from which every message is cut. No two pieces of 8 bytes are the same. */
const NOISE = Buffer.alloc(1 << 16)
const noise = new Random(1)
for (let at = 0; at < NOISE.length; at += 4) NOISE.writeUInt32LE(noise.u32(), at)

const MESSAGE_STRIDE = 12_288
/** What an end gives its peer at connect: address and key of its memory, and its number. */
const CONNECT_BYTES = 16
const NUMBER_AT = 12

const ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC

interface EndOptions {
  /** Different for every end. It determines the end's messages. */
  name: string
  /** By it the peer finds this end among those that connect, or among those that accept. */
  number: number
  plan: readonly WorkPlan[]
  peerPlan: readonly WorkPlan[]
  /** Receives that are kept posted. */
  receives: number
  fail: Fail
}

/** An application's end. */
export class End implements ConnectionHandler {
  readonly nic: Nic
  readonly name: string
  readonly number: number
  readonly plan: readonly WorkPlan[]
  /** Set as soon as both ends exist. */
  peer: End | null = null
  connection: Connection | null = null
  readonly sends: SendOrder
  /** Up to its last completion, or its end. */
  retransmissions: Retransmissions | null = null
  closed = 0
  error: WeirError | null = null
  /** Work requests that may be posted by now. Call `goOn` after raising it. */
  allowed = Number.POSITIVE_INFINITY
  /** Called when the connection is there. */
  onReady: (connection: Connection) => void = () => {}
  /** Called after each good completion. */
  onProgress: (now: number) => void = () => {}
  /** Called at the end, once. */
  onEnded: (now: number) => void = () => {}
  readonly target: MemoryRegion
  /** One region for each of the peer's SENDs with invalidate. */
  readonly spares: readonly MemoryRegion[]
  readonly #fail: Fail
  readonly #salt: number
  readonly #source: MemoryRegion
  readonly #slots: MemoryRegion
  readonly #receives: number
  readonly #receiveCount: ReceiveCount
  /** Ids of the peer's work that completes a receive here, in order, and how many have come. */
  #expected: number[] = []
  #received = 0
  #invalidated = 0
  readonly #words = new WordModel()
  readonly #atomics = new Map<number, AtomicStep>()

  constructor(nic: Nic, options: EndOptions) {
    const { name, number, plan, peerPlan, receives, fail } = options
    this.nic = nic
    this.name = name
    this.number = number
    this.plan = plan
    this.#fail = what => fail(`${name}: ${what}`)
    this.#salt = hashOf(name)
    this.#receives = receives
    this.sends = new SendOrder(this.#fail)
    this.#receiveCount = new ReceiveCount(this.#fail)
    const bytes = Math.max(1, plan.length) * MESSAGE_STRIDE
    this.#source = nic.memory.register(Buffer.alloc(bytes), bytes, Access.LOCAL_WRITE)
    // The words of the peer's atomics are after its messages.
    const targetBytes = peerPlan.length * MESSAGE_STRIDE + WORDS * WORD_BYTES
    this.target = nic.memory.register(Buffer.alloc(targetBytes), targetBytes, ACCESS)
    this.spares = peerPlan
      .filter(({ opcode }) => opcode === WorkOpcode.SEND_WITH_INV)
      .map(() => nic.memory.register(Buffer.alloc(8), 8, Access.REMOTE_WRITE))
    const slotBytes = receives * MESSAGE_MAX
    this.#slots = nic.memory.register(Buffer.alloc(slotBytes), slotBytes, Access.LOCAL_WRITE)
    for (const [id, { opcode, length }] of plan.entries()) {
      if (opcode < WorkOpcode.RDMA_READ)
        this.contents(id, length).copy(this.#source.buffer!, id * MESSAGE_STRIDE)
    }
  }

  /** Sets the other end: what its READs find here, and which of its work completes a receive. */
  meet(peer: End): void {
    this.peer = peer
    this.#expected = []
    for (const [id, { opcode, length }] of peer.plan.entries()) {
      if (opcode === WorkOpcode.RDMA_READ) {
        peer.contents(id, length).copy(this.target.buffer!, id * MESSAGE_STRIDE)
      }
      if (completesReceive(opcode)) this.#expected.push(id)
    }
  }

  /** The contents of message `id` of this end. */
  contents(id: number, length: number): Buffer {
    const from = (this.#salt + id * 977) % (NOISE.length - MESSAGE_MAX)
    return NOISE.subarray(from, from + length)
  }

  /** Number of work requests that have succeeded, which are the first ones. */
  get succeeded(): number {
    return this.sends.succeeded
  }

  /** All of its work has succeeded. */
  get done(): boolean {
    return this.succeeded === this.plan.length
  }

  /** What the peer gets at connect. Two hosts may have the same address and key, so the number says which end it is. */
  connectData(): Buffer {
    const data = Buffer.alloc(CONNECT_BYTES)
    data.writeBigUInt64BE(BigInt(this.target.address), 0)
    data.writeUInt32BE(this.target.key, 8)
    data.writeUInt32BE(this.number, NUMBER_AT)
    return data
  }

  /** Posts what `allowed` lets it post. */
  goOn(now: number): void {
    if (this.connection !== null && this.closed === 0) this.#post(now, this.connection)
  }

  acceptData(): Uint8Array {
    return this.connectData()
  }

  onCreated(_now: number, connection: Connection): void {
    this.connection = connection
    for (let slot = 0; slot < this.#receives; slot++) this.#postReceive(connection, slot)
  }

  onEstablished(now: number, connection: Connection): void {
    this.connection = connection
    this.onReady(connection)
    this.#post(now, connection)
    this.onProgress(now)
  }

  onCompletion(now: number, connection: Connection, completion: Completion): void {
    if (this.closed > 0) this.#fail('a completion came after the end')
    if (completion.isReceive) this.#onReceive(connection, completion)
    else this.#onSent(completion)
    this.#count(connection)
    if (completion.status !== WorkStatus.SUCCESS) return
    this.#post(now, connection)
    this.onProgress(now)
  }

  onClosed(now: number, connection: Connection, error: WeirError | null): void {
    this.closed++
    this.#count(connection)
    this.error = error
    checkClosed(this.closed, error, this.#fail)
    this.sends.onEnd()
    this.#receiveCount.onEnd()
    checkKept(this.spares, this.#invalidated, this.#fail)
    if (this.closed === 1) this.onEnded(now)
  }

  #count({ id }: Connection): void {
    const flow = this.nic.table.find(id)
    if (flow === null) return
    const { retransmittedPackets, tailProbes, timeouts, rnrNaks } = flow.qp.counters
    this.retransmissions = { packets: retransmittedPackets, tailProbes, timeouts, rnrNaks }
  }

  #onSent({ id, status }: Completion): void {
    const good = status === WorkStatus.SUCCESS
    this.sends.onCompletion(id, good)
    if (!good) return
    this.#checkEffect(id)
    if (this.done && this.peer !== null) checkWords(this.#words, this.peer.wordsOf(this), this.#fail)
  }

  /** A completed work request has had its effect, whole and exact. */
  #checkEffect(id: number): void {
    const { opcode, length } = this.plan[id]!
    const at = id * MESSAGE_STRIDE
    const { peer } = this
    if (peer === null) this.#fail(`work request ${id} completed without a peer`)
    else if (opcode === WorkOpcode.RDMA_WRITE || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) {
      const there = peer.target.buffer!.subarray(at, at + length)
      checkBytes(`WRITE ${id}`, this.contents(id, length), there, this.#fail)
    } else if (opcode === WorkOpcode.RDMA_READ) {
      const there = this.#source.buffer!.subarray(at, at + length)
      checkBytes(`READ ${id}`, this.contents(id, length), there, this.#fail)
    } else if (isAtomic(opcode)) {
      const found = this.#source.buffer!.readBigUInt64LE(at)
      checkFound(`atomic ${id}`, this.#atomics.get(id)!.found, found, this.#fail)
    }
  }

  /** The words of a peer's atomics. */
  wordsOf(peer: End): Buffer {
    return this.target.buffer!.subarray(peer.plan.length * MESSAGE_STRIDE)
  }

  #onReceive(connection: Connection, completion: Completion): void {
    this.#receiveCount.onCompletion()
    if (completion.status !== WorkStatus.SUCCESS) return
    const id = this.#expected[this.#received++]
    const slot = completion.id
    const { peer } = this
    if (id === undefined || peer === null) {
      this.#fail('received more than was sent')
      return
    }
    const { opcode, length } = peer.plan[id]!
    const isWrite = opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
    const immediate = isWrite || opcode === WorkOpcode.SEND_WITH_IMM
    const from = isWrite ? id * MESSAGE_STRIDE : slot * MESSAGE_MAX
    const there = (isWrite ? this.target : this.#slots).buffer!.subarray(from, from + length)
    checkArrival({ id, sent: peer.contents(id, length), immediate, completion, there }, this.#fail)
    const named = opcode === WorkOpcode.SEND_WITH_INV ? this.spares[this.#invalidated++]! : null
    checkInvalidated(`message ${id}`, completion.invalidatedKey, named, this.#fail)
    this.#postReceive(connection, slot)
  }

  #postReceive(connection: Connection, slot: number): void {
    const work = { id: slot, region: this.#slots, offset: slot * MESSAGE_MAX, length: MESSAGE_MAX }
    if (connection.postReceive(work)) this.#receiveCount.posted++
  }

  #post(now: number, connection: Connection): void {
    while (this.sends.posted < Math.min(this.plan.length, this.allowed)) {
      // A completion may arrive during the call, so the count is set before.
      this.sends.posted++
      if (connection.postSend(now, this.#work(this.sends.posted - 1, connection))) continue
      this.sends.posted--
      return
    }
  }

  #work(id: number, connection: Connection): SendWork {
    const { opcode, length } = this.plan[id]!
    const offset = id * MESSAGE_STRIDE
    const work: SendWork = { id, opcode, region: this.#source, offset, length }
    if (opcode === WorkOpcode.SEND_WITH_IMM || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) work.immediate = id
    if (opcode === WorkOpcode.SEND_WITH_INV)
      work.invalidateKey = this.peer!.spares[this.#nthInvalidation(id)]!.key
    if (opcode < WorkOpcode.RDMA_WRITE) return work
    const told = Buffer.from(connection.peerPrivateData)
    const address = Number(told.readBigUInt64BE(0))
    work.rkey = told.readUInt32BE(8)
    work.remoteAddress = address + offset
    if (!isAtomic(opcode)) return work
    const { word, compareOrAdd, swap } = this.#atomic(id)
    work.remoteAddress = address + this.plan.length * MESSAGE_STRIDE + word * WORD_BYTES
    return { ...work, compareOrAdd, swap }
  }

  /** The operands of atomic `id`. A post to a full queue is repeated. */
  #atomic(id: number): AtomicStep {
    let step = this.#atomics.get(id)
    if (step !== undefined) return step
    const { opcode, matches = true } = this.plan[id]!
    step = opcode === WorkOpcode.FETCH_AND_ADD ? this.#words.add() : this.#words.swap(id, matches)
    this.#atomics.set(id, step)
    return step
  }

  #nthInvalidation(id: number): number {
    return this.plan.slice(0, id).filter(({ opcode }) => opcode === WorkOpcode.SEND_WITH_INV).length
  }
}

/** The number of the end that sent this. */
export function numberIn(data: Uint8Array): number {
  return Buffer.from(data).readUInt32BE(NUMBER_AT)
}

/** The peer's work that is a completion at this end. */
function completesReceive(opcode: WorkOpcode): boolean {
  return (
    opcode === WorkOpcode.SEND ||
    opcode === WorkOpcode.SEND_WITH_IMM ||
    opcode === WorkOpcode.SEND_WITH_INV ||
    opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
  )
}

function isAtomic(opcode: number): boolean {
  return opcode === WorkOpcode.FETCH_AND_ADD || opcode === WorkOpcode.COMPARE_AND_SWAP
}

function hashOf(text: string): number {
  let hash = 7
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0
  return hash
}
