import type { Connection } from '../nic/types.js'
import type { MemoryRegion } from '../qp/memory/memory.js'
import { type SendWork, WorkOpcode } from '../qp/queues/work.js'
import type { Nanos } from '../time/nanos.js'
import type { PerfSender } from './data-qp.js'
import type { Op, RemoteMemory } from './messages.js'
import type { Tally } from './tally.js'

const OPCODES: Readonly<Record<Op, WorkOpcode>> = {
  WRITE: WorkOpcode.RDMA_WRITE,
  SEND: WorkOpcode.SEND,
  READ: WorkOpcode.RDMA_READ,
}

interface StreamOptions {
  op: Op
  /** Bytes of each message. */
  size: number
  /** Messages in flight, 1 or more. */
  depth: number
  /** Messages to send. Default: until `stop`. */
  iterations?: number | undefined
  region: MemoryRegion
  remote: RemoteMemory
  tally: Tally
}

/** Keeps `depth` messages in flight on one connection. They complete in the order in which they were posted. */
export class Stream implements PerfSender {
  readonly #work: SendWork
  readonly #tally: Tally
  /** When each message in flight was posted, by its number modulo the depth. */
  readonly #postedNs: Float64Array
  readonly #depth: number
  #left: number
  #posted = 0
  #completed = 0

  constructor(options: StreamOptions) {
    const { op, size, depth, region, remote } = options
    this.#depth = depth
    this.#left = options.iterations ?? Number.POSITIVE_INFINITY
    this.#tally = options.tally
    this.#postedNs = new Float64Array(depth)
    this.#work = {
      id: 0,
      opcode: OPCODES[op],
      region,
      offset: 0,
      length: size,
      remoteAddress: remote.address,
      rkey: remote.rkey,
    }
  }

  /** Messages that have not completed. */
  get inFlight(): number {
    return this.#posted - this.#completed
  }

  /** True when nothing is in flight and nothing more will be sent. */
  get done(): boolean {
    return this.#left === 0 && this.inFlight === 0
  }

  /** Posts no more messages. */
  stop(): void {
    this.#left = 0
  }

  /** Posts as many messages as there is room for. */
  fill(now: Nanos, connection: Connection): void {
    while (this.#left > 0 && this.inFlight < this.#depth) {
      if (!connection.postSend(now, this.#work)) return
      this.#postedNs[this.#posted % this.#depth] = now
      this.#posted++
      this.#left--
    }
  }

  onSent(now: Nanos, connection: Connection): void {
    const postedNs = this.#postedNs[this.#completed % this.#depth]!
    this.#completed++
    this.#tally.completed(now, postedNs, this.#work.length)
    this.fill(now, connection)
  }

  onReceived(): void {}
}
