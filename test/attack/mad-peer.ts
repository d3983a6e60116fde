/** Ends of connections at a NIC that gets packets of a mad peer: that of the mad peer, and those of honest ones. */
import type { PacedHandler, PacedPair } from '../../lib/nic/paced/paced-pair.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { QpState } from '../../lib/qp/queue-pair.js'
import type { Completion } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { type App, memoryOf, type Pair, pattern } from '../nic/pair.js'

export const ROGUE = HostAddress.parse('10.0.0.9')
export const ROGUE_QPN = 0x777
const FIRST_PSN = 1000
const WORK_BYTES = 20_000
const TARGET_SLOT = 1024
const GUARD = 0xa5

/** The mad peer's own connection at `a`, which the standard lets it end: then it gets another one. */
export class RogueEnd implements ConnectionHandler {
  readonly domain: number
  qpn = 0
  connection: Connection | null = null
  ends = 0
  readonly #pair: Pair
  readonly #region: MemoryRegion

  constructor(pair: Pair) {
    this.#pair = pair
    this.domain = pair.a.memory.newDomain()
    const access = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE
    this.#region = pair.a.memory.register(Buffer.alloc(4096), 4096, access, this.domain)
  }

  /** A queue pair that expects `FIRST_PSN`. */
  begin(): void {
    const { a, network } = this.#pair
    this.qpn = a.createQueuePair(network.now, ROGUE, this, {}).qpn
    a.connectQueuePair(network.now, this.qpn, { qpn: ROGUE_QPN, psn: FIRST_PSN })
  }

  get lives(): boolean {
    return this.#pair.a.table.find(this.qpn)?.qp.state === QpState.RTS
  }

  get isOpen(): boolean {
    return this.#pair.a.table.find(this.qpn) !== null
  }

  onCreated(_now: number, connection: Connection): void {
    this.connection = connection
    for (let id = 0; id < 4; id++)
      connection.postReceive({ id, region: this.#region, offset: 0, length: 4096 })
  }
  onEstablished(): void {}
  onCompletion(): void {}
  onClosed(): void {
    this.ends++
    this.connection = null
  }
}

/** A queue pair at `a` that nobody acknowledges: its receives are posted again, and what is around them stays. */
export class GuardedTarget<Of extends PacedPair> implements PacedHandler {
  readonly pair: Of
  readonly #region: MemoryRegion
  readonly #sizes = [40, 100, 340, 600]

  constructor({ a }: Pair, make: (handler: PacedHandler) => Of) {
    this.#region = memoryOf(a, Buffer.alloc(this.#sizes.length * TARGET_SLOT, GUARD))
    this.pair = make(this)
    for (const id of this.#sizes.keys()) this.#post(id)
  }

  #post(id: number): void {
    const length = this.#sizes[id]!
    this.pair.postReceive({ id, region: this.#region, offset: id * TARGET_SLOT, length })
  }

  /** No byte outside the receives has changed. */
  get isGuarded(): boolean {
    return this.#sizes.every((length, id) => {
      const from = id * TARGET_SLOT + length
      return this.#region.buffer!.subarray(from, (id + 1) * TARGET_SLOT).every(byte => byte === GUARD)
    })
  }

  onCompletion(_now: number, _pair: PacedPair, { id }: Completion): void {
    this.#post(id)
  }
  onClosed(): void {}
}

/** WRITEs, READs and SENDs of both honest ends, whose bytes are compared. */
export class HonestWork {
  readonly #pair: Pair
  readonly #ends: [App, App]
  readonly #data: Buffer
  /** What `a` and `b` send, and where WRITEs of the other end and READs of their own arrive. */
  readonly #sources: MemoryRegion[]
  readonly #sinks: MemoryRegion[]
  #left = 0

  constructor(pair: Pair, left: App, right: App) {
    this.#pair = pair
    this.#ends = [left, right]
    this.#data = pattern(3, WORK_BYTES)
    this.#sources = [memoryOf(pair.a, this.#data), memoryOf(pair.b, this.#data)]
    this.#sinks = [pair.a, pair.b].map(nic => memoryOf(nic, Buffer.alloc(2 * WORK_BYTES)))
    for (const app of this.#ends)
      app.onDone = (_now, _connection, completion) => {
        if (!completion.isReceive && completion.status === 0) this.#left--
      }
  }

  post(): void {
    for (const [i, app] of this.#ends.entries()) {
      app.log.length = 0
      const [source, sink, there, theirs] = [
        this.#sources[i]!,
        this.#sinks[i]!,
        this.#sinks[1 - i]!,
        this.#sources[1 - i]!,
      ]
      sink.buffer!.fill(0)
      const whole = { offset: 0, length: WORK_BYTES }
      const post = (work: Parameters<Connection['postSend']>[1]) => {
        if (app.connection!.postSend(this.#pair.network.now, work)) this.#left++
      }
      const to = { remoteAddress: there.address, rkey: there.key }
      post({ id: 1, opcode: WorkOpcode.RDMA_WRITE, region: source, ...whole, ...to })
      const from = { remoteAddress: theirs.address, rkey: theirs.key }
      post({
        id: 2,
        opcode: WorkOpcode.RDMA_READ,
        region: sink,
        offset: WORK_BYTES,
        length: WORK_BYTES,
        ...from,
      })
      post({ id: 3, opcode: WorkOpcode.SEND, region: source, offset: 0, length: 5000 })
    }
  }

  /** Everything has completed, and arrived as it was sent. */
  finish(): boolean {
    const isExact = (sink: MemoryRegion) =>
      sink.buffer!.subarray(0, WORK_BYTES).equals(this.#data) &&
      sink.buffer!.subarray(WORK_BYTES).equals(this.#data)
    const isReceived = ({ log }: App) => log.includes(`received ${this.#data.toString('latin1', 0, 5000)}`)
    return (
      this.#pair.until(() => this.#left === 0 && this.#ends.every(isReceived)) && this.#sinks.every(isExact)
    )
  }
}
