import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import {
  Completion,
  ReceiveOpcode,
  WorkStatus,
  workStatusName,
} from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import type { Host } from './pipe.js'

const ARENA_BYTES = 1 << 16
const COUNTERS = 4

interface ExpectedReceive {
  opcode: ReceiveOpcode
  length: number
  immediate: number | null
  key: number
  bytes: Buffer | null
}

/**
 * Random work from one host to another, with a plain model of its effects: the operations take effect once
 * each, in the order of their posts.
 *
 * READs read a region that nobody writes, because a READ and a WRITE after it may overtake each other (IBA
 * 10.8.3.3).
 */
export class Traffic {
  readonly errors: string[] = []
  messages = 0
  received = 0
  readonly #from: Host
  readonly #to: Host
  readonly #random: () => number
  readonly #total: number
  readonly #mtu: number
  readonly #readBytesMax: number
  readonly #expectedCompletions: SendWork[] = []
  readonly #expectedReceives: ExpectedReceive[] = []
  readonly #expectedResults: { region: MemoryRegion; bytes: Buffer }[] = []
  readonly #expectedInvalid: MemoryRegion[] = []
  readonly #receiveRegions: MemoryRegion[] = []
  readonly #source: MemoryRegion
  readonly #readable: MemoryRegion
  readonly #writable: MemoryRegion
  readonly #writableModel: Buffer
  readonly #counters: MemoryRegion
  readonly #countersModel: BigUint64Array
  readonly #completion = new Completion()
  #posted = 0
  #blocked: SendWork | null = null
  #blockedEffect: () => void = () => {}
  #postedReceives = 0

  /** @param readBytesMax of one READ request: a longer READ is several messages */
  constructor(
    from: Host,
    to: Host,
    random: () => number,
    total: number,
    mtu: number,
    readBytesMax = Number.POSITIVE_INFINITY,
  ) {
    this.#from = from
    this.#to = to
    this.#random = random
    this.#total = total
    this.#mtu = mtu
    this.#readBytesMax = readBytesMax
    this.#source = from.memory.register(this.#noise(ARENA_BYTES), ARENA_BYTES, 0)
    this.#readable = to.memory.register(this.#noise(ARENA_BYTES), ARENA_BYTES, Access.REMOTE_READ)
    this.#writable = to.memory.register(Buffer.alloc(ARENA_BYTES), ARENA_BYTES, Access.REMOTE_WRITE)
    this.#writableModel = Buffer.alloc(ARENA_BYTES)
    this.#counters = to.memory.register(Buffer.alloc(8 * COUNTERS), 8 * COUNTERS, Access.REMOTE_ATOMIC)
    this.#countersModel = new BigUint64Array(COUNTERS)
  }

  /** Everything posted, completed and received. */
  get done(): boolean {
    return (
      this.#posted === this.#total &&
      this.#blocked === null &&
      this.#from.qp.sendPending === 0 &&
      this.#from.sendCq.pending === 0 &&
      this.#expectedReceives.length === 0
    )
  }

  /** Posts some work and some receives, takes completions. */
  pump(now: number): void {
    if (this.#random() < 0.5) this.#postReceive()
    for (let i = Math.floor(this.#random() * 4); i > 0; i--) if (!this.#postSend(now)) break
    this.#takeSends()
    this.#takeReceives()
  }

  /** Call at the end. Checks the contents of the memory. */
  checkMemory(): void {
    if (!this.#writableModel.equals(this.#writable.buffer!)) this.#wrong('written memory differs')
    for (let i = 0; i < COUNTERS; i++) {
      const value = this.#counters.buffer!.readBigUInt64LE(8 * i)
      if (value !== this.#countersModel[i]) this.#wrong(`counter ${i} is ${value}`)
    }
    for (const { region, bytes } of this.#expectedResults) {
      if (!bytes.equals(region.buffer!)) this.#wrong(`result of ${bytes.length} bytes differs`)
    }
    for (const region of this.#expectedInvalid) if (region.valid) this.#wrong('a key was not invalidated')
    if (this.#expectedCompletions.length > 0)
      this.#wrong(`${this.#expectedCompletions.length} completions missing`)
  }

  #wrong(what: string): void {
    this.errors.push(what)
  }

  #noise(length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (let i = 0; i + 4 <= length; i += 4) bytes.writeUInt32LE((this.#random() * 2 ** 32) >>> 0, i)
    return bytes
  }

  /** Mostly lengths at the edges of packets. */
  #length(): number {
    const packets = Math.floor(this.#random() * 6)
    const edge = Math.floor(this.#random() * 3) - 1
    if (this.#random() < 0.2) return Math.floor(this.#random() * 9)
    return Math.max(0, packets * this.#mtu + edge)
  }

  #postSend(now: number): boolean {
    if (this.#blocked === null) {
      if (this.#posted === this.#total) return false
      this.#draw()
    }
    const work = this.#blocked!
    if (!this.#from.qp.postSend(now, work)) return false
    this.#blocked = null
    this.#blockedEffect()
    this.messages +=
      work.opcode === WorkOpcode.RDMA_READ ? Math.max(1, Math.ceil(work.length / this.#readBytesMax)) : 1
    if (work.signaled) this.#expectedCompletions.push(work)
    return true
  }

  /** Draws the next work request, and its effect once it is accepted. */
  #draw(): void {
    const opcode = Math.floor(this.#random() * 8) as WorkOpcode
    const atomic = opcode >= WorkOpcode.COMPARE_AND_SWAP
    const length = atomic ? 8 : this.#length()
    const offset = Math.floor(this.#random() * (ARENA_BYTES - length))
    const fence = this.#random() < 0.2
    const signaled = this.#random() < 0.8
    const work: SendWork = {
      id: this.#posted++,
      opcode,
      region: this.#source,
      offset,
      length,
      fence,
      signaled,
    }
    this.#blocked = work
    if (opcode === WorkOpcode.RDMA_READ) this.#drawRead(work)
    else if (atomic) this.#drawAtomic(work)
    else if (opcode >= WorkOpcode.RDMA_WRITE) this.#drawWrite(work)
    else this.#drawSend(work)
  }

  #drawSend(work: SendWork): void {
    const bytes = Buffer.from(this.#source.buffer!.subarray(work.offset, work.offset + work.length))
    let key = 0
    if (work.opcode === WorkOpcode.SEND_WITH_IMM) work.immediate = (this.#random() * 2 ** 32) >>> 0
    if (work.opcode === WorkOpcode.SEND_WITH_INV) {
      const region = this.#to.memory.register(null, 64, Access.REMOTE_WRITE)
      this.#expectedInvalid.push(region)
      key = region.key
      work.invalidateKey = key
    }
    const immediate = work.immediate ?? null
    this.#blockedEffect = () => {
      this.#expectedReceives.push({ opcode: ReceiveOpcode.RECV, length: work.length, immediate, key, bytes })
    }
  }

  #drawWrite(work: SendWork): void {
    const at = Math.floor(this.#random() * (ARENA_BYTES - work.length))
    work.remoteAddress = this.#writable.address + at
    work.rkey = this.#writable.key
    if (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) work.immediate = (this.#random() * 2 ** 32) >>> 0
    const { opcode, length } = work
    this.#blockedEffect = () => {
      this.#source.buffer!.copy(this.#writableModel, at, work.offset, work.offset + length)
      if (opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM) return
      const immediate = work.immediate!
      const kind = ReceiveOpcode.RECV_RDMA_WITH_IMM
      this.#expectedReceives.push({ opcode: kind, length, immediate, key: 0, bytes: null })
    }
  }

  #drawRead(work: SendWork): void {
    const at = work.offset
    work.region = this.#from.memory.register(Buffer.alloc(work.length), work.length, Access.LOCAL_WRITE)
    work.offset = 0
    work.remoteAddress = this.#readable.address + at
    work.rkey = this.#readable.key
    const bytes = Buffer.from(this.#readable.buffer!.subarray(at, at + work.length))
    const region = work.region
    this.#blockedEffect = () => void this.#expectedResults.push({ region, bytes })
  }

  #drawAtomic(work: SendWork): void {
    const index = Math.floor(this.#random() * COUNTERS)
    work.region = this.#from.memory.register(Buffer.alloc(8), 8, Access.LOCAL_WRITE)
    work.offset = 0
    work.remoteAddress = this.#counters.address + 8 * index
    work.rkey = this.#counters.key
    const operand = (BigInt(Math.floor(this.#random() * 2 ** 32)) << 32n) | 0xfffffff0n
    const swap = operand ^ 0x5555n
    const hit = this.#random() < 0.5
    const { region, opcode } = work
    work.compareOrAdd = operand
    work.swap = swap
    this.#blockedEffect = () => {
      const original = this.#countersModel[index]!
      if (opcode === WorkOpcode.FETCH_AND_ADD) this.#countersModel[index] = original + operand
      else {
        if (hit) work.compareOrAdd = original
        if (work.compareOrAdd === original) this.#countersModel[index] = swap
      }
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64LE(original)
      this.#expectedResults.push({ region, bytes })
    }
    // The model knows the value only when everything before is posted. It is, because nothing overtakes this
    // one.
    if (opcode === WorkOpcode.COMPARE_AND_SWAP && hit) work.compareOrAdd = this.#countersModel[index]!
  }

  #postReceive(): void {
    const length = 6 * this.#mtu + 1
    const region = this.#to.memory.register(Buffer.alloc(length), length, Access.LOCAL_WRITE)
    if (this.#to.qp.postReceive({ id: this.#postedReceives, region, offset: 0, length })) {
      this.#receiveRegions[this.#postedReceives++] = region
    } else this.#to.memory.deregister(region)
  }

  #takeSends(): void {
    const got = this.#completion
    while (this.#from.sendCq.poll(got)) {
      const work = this.#expectedCompletions.shift()
      if (got.status !== WorkStatus.SUCCESS)
        this.#wrong(`work ${got.id} ended with ${workStatusName(got.status)}`)
      else if (work === undefined || got.id !== work.id) this.#wrong(`completion ${got.id}, not ${work?.id}`)
      else if (got.opcode !== work.opcode || got.isReceive || got.qpn !== this.#from.qp.qpn)
        this.#wrong(`completion ${got.id} is of another kind`)
    }
  }

  #takeReceives(): void {
    const got = this.#completion
    while (this.#to.receiveCq.poll(got)) {
      const expected = this.#expectedReceives.shift()
      const id = this.received++
      const region = this.#receiveRegions[id]
      if (got.status !== WorkStatus.SUCCESS || expected === undefined || region === undefined) {
        this.#wrong(`receive ${got.id} ended with ${workStatusName(got.status)}`)
        continue
      }
      const immediate = got.hasImmediate ? got.immediate : null
      const same =
        got.id === id &&
        got.isReceive &&
        got.opcode === expected.opcode &&
        got.byteLength === expected.length &&
        immediate === expected.immediate &&
        got.invalidatedKey === expected.key
      if (!same) this.#wrong(`receive ${got.id} is not the one expected`)
      if (expected.bytes !== null && !expected.bytes.equals(region.buffer!.subarray(0, expected.length)))
        this.#wrong(`bytes of receive ${got.id} differ`)
      this.#to.memory.deregister(region)
    }
  }
}
