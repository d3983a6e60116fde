/** One end of a connection of the swarm: posts its work, and checks each completion and each message as it comes. */
import { WeirError } from '../../lib/errors.js'
import type { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { type Completion, WorkStatus, workStatusName } from '../../lib/qp/completion-queue.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/work.js'
import { Random } from '../../lib/sim/random.js'
import { MESSAGE_MAX, type WorkPlan } from './plan.js'

/** Bytes that every message is cut from; no two pieces of 8 bytes are the same. */
const NOISE = Buffer.alloc(1 << 16)
const noise = new Random(1)
for (let at = 0; at < NOISE.length; at += 4) NOISE.writeUInt32LE(noise.u32(), at)

const MESSAGE_STRIDE = 12_288
/** Address and key of an end's memory, told to its peer. */
const TARGET_BYTES = 12

const ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC

export interface EndOptions {
  /** Different for every end: its messages follow from it. */
  name: string
  plan: readonly WorkPlan[]
  peerPlan: readonly WorkPlan[]
  /** Receives that are kept posted. */
  receives: number
  fail: (what: string) => void
}

/** An application's end. */
export class End implements ConnectionHandler {
  readonly nic: Nic
  readonly name: string
  readonly plan: readonly WorkPlan[]
  /** Set as soon as both ends are there. */
  peer: End | null = null
  connection: Connection | null = null
  /** Completions of the send queue, good ones first. */
  succeeded = 0
  flushed = 0
  closed = 0
  error: WeirError | null = null
  /** Work requests that may be posted by now; whoever raises it calls `goOn`. */
  allowed = Number.POSITIVE_INFINITY
  /** Called when the connection is there. */
  onReady: (connection: Connection) => void = () => {}
  /** Called after each good completion. */
  onProgress: (now: number) => void = () => {}
  /** Called at the end, once. */
  onEnded: (now: number) => void = () => {}
  readonly target: MemoryRegion
  readonly #fail: (what: string) => void
  readonly #salt: number
  readonly #source: MemoryRegion
  readonly #slots: MemoryRegion
  readonly #receives: number
  /** Ids of the peer's work that completes a receive here, in order, and how many have come. */
  #expected: number[] = []
  #received = 0
  #posted = 0
  #receivesPosted = 0
  #receivesEnded = 0

  constructor(nic: Nic, options: EndOptions) {
    const { name, plan, peerPlan, receives, fail } = options
    this.nic = nic
    this.name = name
    this.plan = plan
    this.#fail = what => fail(`${name}: ${what}`)
    this.#salt = hashOf(name)
    this.#receives = receives
    const bytes = Math.max(1, plan.length) * MESSAGE_STRIDE
    this.#source = nic.memory.register(Buffer.alloc(bytes), bytes, Access.LOCAL_WRITE)
    // Behind the peer's messages a counter for its additions.
    const targetBytes = peerPlan.length * MESSAGE_STRIDE + 8
    this.target = nic.memory.register(Buffer.alloc(targetBytes), targetBytes, ACCESS)
    const slotBytes = receives * MESSAGE_MAX
    this.#slots = nic.memory.register(Buffer.alloc(slotBytes), slotBytes, Access.LOCAL_WRITE)
    for (const [id, { opcode, length }] of plan.entries()) {
      if (opcode < WorkOpcode.RDMA_READ)
        this.contents(id, length).copy(this.#source.buffer!, id * MESSAGE_STRIDE)
    }
  }

  /** Who is at the other end: what its READs find here, and which of its work completes a receive. */
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

  /** What message `id` of this end holds. */
  contents(id: number, length: number): Buffer {
    const from = (this.#salt + id * 977) % (NOISE.length - MESSAGE_MAX)
    return NOISE.subarray(from, from + length)
  }

  /** All of its work has succeeded. */
  get done(): boolean {
    return this.succeeded === this.plan.length
  }

  /** What the peer is told at connect: where its memory is, and which key. */
  targetData(): Buffer {
    const data = Buffer.alloc(TARGET_BYTES)
    data.writeBigUInt64BE(BigInt(this.target.address), 0)
    data.writeUInt32BE(this.target.key, 8)
    return data
  }

  /** Posts what `allowed` lets it post. */
  goOn(now: number): void {
    if (this.connection !== null && this.closed === 0) this.#post(now, this.connection)
  }

  acceptData(): Uint8Array {
    return this.targetData()
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
    if (completion.status !== WorkStatus.SUCCESS) return
    this.#post(now, connection)
    this.onProgress(now)
  }

  onClosed(now: number, _connection: Connection, error: WeirError | null): void {
    this.closed++
    this.error = error
    if (this.closed > 1) this.#fail('was told of its end twice')
    if (error !== null && !(error instanceof WeirError)) this.#fail(`ended with ${error}, which has no code`)
    const ended = this.succeeded + this.flushed
    if (ended !== this.#posted) this.#fail(`posted ${this.#posted} work requests, ${ended} have completed`)
    if (this.#receivesEnded !== this.#receivesPosted) {
      this.#fail(`posted ${this.#receivesPosted} receives, ${this.#receivesEnded} have completed`)
    }
    if (this.closed === 1) this.onEnded(now)
  }

  #onSent(completion: Completion): void {
    const { id, status } = completion
    if (id !== this.succeeded + this.flushed) this.#fail(`work request ${id} completed out of order`)
    if (status !== WorkStatus.SUCCESS) {
      this.flushed++
      return
    }
    if (this.flushed > 0) this.#fail(`work request ${id} succeeded after a failed one`)
    this.succeeded++
    this.#checkBytes(id)
  }

  /** A completed work request has had its effect, whole and exact. */
  #checkBytes(id: number): void {
    const { opcode, length } = this.plan[id]!
    const at = id * MESSAGE_STRIDE
    const wanted = this.contents(id, length)
    const { peer } = this
    if (peer === null) this.#fail(`work request ${id} completed without a peer`)
    else if (opcode === WorkOpcode.RDMA_WRITE || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) {
      if (!peer.target.buffer!.subarray(at, at + length).equals(wanted))
        this.#fail(`WRITE ${id} is not exact`)
    } else if (opcode === WorkOpcode.RDMA_READ) {
      if (!this.#source.buffer!.subarray(at, at + length).equals(wanted))
        this.#fail(`READ ${id} is not exact`)
    } else if (opcode === WorkOpcode.FETCH_AND_ADD) {
      const before = this.#source.buffer!.readBigUInt64LE(at)
      const earlier = this.plan.slice(0, id).filter(work => work.opcode === WorkOpcode.FETCH_AND_ADD).length
      if (before !== BigInt(earlier)) this.#fail(`FETCH_AND_ADD ${id} found ${before}, not ${earlier}`)
    }
  }

  #onReceive(connection: Connection, completion: Completion): void {
    this.#receivesEnded++
    if (completion.status !== WorkStatus.SUCCESS) return
    const id = this.#expected[this.#received++]
    const slot = completion.id
    const { peer } = this
    if (id === undefined || peer === null) {
      this.#fail(`received more than was sent: ${workStatusName(completion.status)}`)
      return
    }
    const { opcode, length } = peer.plan[id]!
    const isWrite = opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
    if (completion.hasImmediate !== (opcode !== WorkOpcode.SEND))
      this.#fail(`message ${id} is of another kind`)
    if (completion.hasImmediate && completion.immediate !== id) {
      this.#fail(`message ${completion.immediate} arrived in place of ${id}`)
    }
    if (completion.byteLength !== length) {
      this.#fail(`message ${id} has ${completion.byteLength} bytes, not ${length}`)
    }
    const from = isWrite ? id * MESSAGE_STRIDE : slot * MESSAGE_MAX
    const there = (isWrite ? this.target : this.#slots).buffer!.subarray(from, from + length)
    if (!there.equals(peer.contents(id, length))) this.#fail(`message ${id} is not exact`)
    this.#postReceive(connection, slot)
  }

  #postReceive(connection: Connection, slot: number): void {
    const work = { id: slot, region: this.#slots, offset: slot * MESSAGE_MAX, length: MESSAGE_MAX }
    if (connection.postReceive(work)) this.#receivesPosted++
  }

  #post(now: number, connection: Connection): void {
    while (this.#posted < Math.min(this.plan.length, this.allowed)) {
      // A completion may come from within, so the count is right before the call.
      this.#posted++
      if (connection.postSend(now, this.#work(this.#posted - 1, connection))) continue
      this.#posted--
      return
    }
  }

  #work(id: number, connection: Connection): SendWork {
    const { opcode, length } = this.plan[id]!
    const offset = id * MESSAGE_STRIDE
    const work: SendWork = { id, opcode, region: this.#source, offset, length }
    if (opcode === WorkOpcode.SEND_WITH_IMM || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) work.immediate = id
    if (opcode < WorkOpcode.RDMA_WRITE) return work
    const told = Buffer.from(connection.peerPrivateData)
    const address = Number(told.readBigUInt64BE(0))
    const isAtomic = opcode === WorkOpcode.FETCH_AND_ADD
    work.remoteAddress = address + (isAtomic ? this.plan.length * MESSAGE_STRIDE : offset)
    work.rkey = told.readUInt32BE(8)
    if (isAtomic) work.compareOrAdd = 1n
    return work
  }
}

/** The peer's work that is a completion at this end. */
function completesReceive(opcode: WorkOpcode): boolean {
  return (
    opcode === WorkOpcode.SEND ||
    opcode === WorkOpcode.SEND_WITH_IMM ||
    opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
  )
}

function hashOf(text: string): number {
  let hash = 7
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0
  return hash
}
