/** One message in flight: the end that measures (Ping), and the end that answers (Pong). */
import type { Connection } from '../nic/types.js'
import type { MemoryRegion } from '../qp/memory/memory.js'
import { type SendWork, WorkOpcode } from '../qp/queues/work.js'
import type { Nanos } from '../time/nanos.js'
import type { PerfSender } from './data-qp.js'
import type { Op, RemoteMemory } from './messages.js'
import type { Tally } from './tally.js'

/** A WRITE carries an immediate, so that the other end gets a completion. */
const OPCODES: Readonly<Record<Op, WorkOpcode>> = {
  WRITE: WorkOpcode.RDMA_WRITE_WITH_IMM,
  SEND: WorkOpcode.SEND,
  READ: WorkOpcode.RDMA_READ,
}

interface PingOptions {
  op: Op
  /** Bytes of a message. */
  size: number
  /** Messages to send. Default: until `stop`. */
  iterations?: number
  region: MemoryRegion
  remote: RemoteMemory
  tally: Tally
  /** A clock that is read at each message, because the time of a loop's round is too coarse here. */
  clock: () => Nanos
}

/**
 * Sends a message, waits for the answer, and sends the next. For a READ its completion is the answer. The
 * first exchange is not counted, because the other end measures its T before it sends for the first time.
 */
export class Ping implements PerfSender {
  readonly #work: SendWork
  readonly #isRead: boolean
  readonly #tally: Tally
  readonly #clock: () => Nanos
  #left: number
  #primed = false
  #waiting = false
  #postedNs: Nanos = 0

  constructor(options: PingOptions) {
    const { op, size, region, remote } = options
    this.#isRead = op === 'READ'
    this.#left = 1 + (options.iterations ?? Number.POSITIVE_INFINITY)
    this.#tally = options.tally
    this.#clock = options.clock
    this.#work = work(OPCODES[op], region, remote, this.#isRead)
    this.#work.length = size
  }

  get inFlight(): number {
    return this.#waiting ? 1 : 0
  }

  get done(): boolean {
    return this.#left === 0 && !this.#waiting
  }

  /** Posts no more messages. */
  stop(): void {
    this.#left = 0
  }

  fill(now: Nanos, connection: Connection): void {
    if (this.#waiting || this.#left === 0) return
    this.#post(now, this.#clock(), connection)
  }

  onSent(now: Nanos, connection: Connection): void {
    if (this.#isRead) this.#answered(now, connection)
  }

  onReceived(now: Nanos, connection: Connection): void {
    if (!this.#isRead && this.#waiting) this.#answered(now, connection)
  }

  #answered(now: Nanos, connection: Connection): void {
    const atNs = this.#clock()
    this.#waiting = false
    if (this.#primed) this.#tally.completed(atNs, this.#postedNs, this.#work.length)
    else this.#tally.begin(atNs)
    this.#primed = true
    if (this.#left > 0) this.#post(now, atNs, connection)
  }

  #post(now: Nanos, atNs: Nanos, connection: Connection): void {
    if (!connection.postSend(now, this.#work)) return
    this.#postedNs = atNs
    this.#waiting = true
    this.#left--
  }
}

/** Answers each message with one of the same length. */
export class Pong implements PerfSender {
  readonly #work: SendWork
  #owed = 0

  constructor(op: Op, region: MemoryRegion, remote: RemoteMemory) {
    this.#work = work(OPCODES[op], region, remote, true)
  }

  onSent(now: Nanos, connection: Connection): void {
    if (this.#owed > 0) this.#answer(now, connection)
  }

  onReceived(now: Nanos, connection: Connection, bytes: number): void {
    this.#work.length = bytes
    this.#owed++
    this.#answer(now, connection)
  }

  #answer(now: Nanos, connection: Connection): void {
    // If a peer sends several messages without waiting for answers, they are answered as the send queue has
    // room.
    if (connection.postSend(now, this.#work)) this.#owed--
  }
}

function work(opcode: WorkOpcode, region: MemoryRegion, remote: RemoteMemory, signaled: boolean): SendWork {
  const { address: remoteAddress, rkey } = remote
  return { id: 0, opcode, region, offset: 0, length: 0, remoteAddress, rkey, immediate: 0, signaled }
}
