import { double } from '../double.js'
import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, ConnectOptions, Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import { type Completion, WorkStatus, workStatusText } from '../qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../qp/queues/work.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { readSinkMemory, TRAFFIC_PORT } from './traffic-sink.js'

/** A time that has not come. */
const NOT_YET: Nanos = double(-1)
/** Default length of a flow's messages: 1 MiB. Every packet but the flow's last is full. */
const MESSAGE_BYTES = 1 << 20
/** Most messages posted at a time. */
const POSTED_MAX = 4

export interface TrafficFlowOptions {
  name: string
  /** Payload to move, 0 to 2^53. */
  bytes: number
  /** Largest RDMA WRITE. The sink's memory is a bound too. */
  messageBytes?: number
  /** False: the memory has no storage, as in virtual time. */
  storage: boolean
  connect: ConnectOptions
  /** Called once when the flow has ended, successfully or not. */
  onDone?: (now: Nanos, flow: TrafficFlow) => void
}

/**
 * A flow of a scenario. It connects to a TrafficSink, and from `start` on moves `bytes` by RDMA WRITEs, of
 * which a few are posted at a time. Its completion time is from `start` to the last completion.
 */
export class TrafficFlow implements ConnectionHandler {
  readonly domain: DomainId
  readonly name: string
  readonly bytes: number
  readonly connection: Connection
  /** Time of `start`, or -1. */
  startNs = NOT_YET
  /** Time of the last completion, or -1. */
  endNs = NOT_YET
  /** Why the flow failed. */
  error: WeirError | null = null
  /** True once `start` may be called. */
  established = false

  readonly #verbs: Verbs
  readonly #region: MemoryRegion
  readonly #onDone: ((now: Nanos, flow: TrafficFlow) => void) | undefined
  readonly #work: SendWork
  #messageBytes: number
  #toPost: number
  #posted = 0
  #finished = false

  constructor(now: Nanos, verbs: Verbs, remote: HostAddress, options: TrafficFlowOptions) {
    this.name = options.name
    this.bytes = options.bytes
    this.#verbs = verbs
    this.#toPost = options.bytes
    this.#onDone = options.onDone
    this.#messageBytes = Math.max(1, Math.min(options.messageBytes ?? MESSAGE_BYTES, options.bytes))
    const storage = options.storage ? Buffer.alloc(this.#messageBytes, options.name) : null
    this.domain = verbs.memory.newDomain()
    this.#region = verbs.memory.register(storage, this.#messageBytes, Access.LOCAL_WRITE, this.domain)
    this.#work = { id: 0, opcode: WorkOpcode.RDMA_WRITE, region: this.#region, offset: 0, length: 0 }
    this.connection = verbs.connect(now, remote, TRAFFIC_PORT, this, options.connect)
  }

  /** Payload acknowledged so far. */
  get ackedBytes(): number {
    const { bytes } = this
    return this.endNs >= 0 ? bytes : Math.min(bytes, this.connection.stats.ackedBytes)
  }

  /** True once the flow has ended, successfully or not. */
  get done(): boolean {
    return this.#finished
  }

  /** Begins to send. Throws WEIR_BAD_STATE before the connection is established, and the second time. */
  start(now: Nanos): void {
    if (this.#finished) return
    if (!this.established) {
      throw new WeirError('WEIR_BAD_STATE', `flow ${this.name}: its connection is not established yet`)
    }
    if (this.startNs >= 0) throw new WeirError('WEIR_BAD_STATE', `flow ${this.name} has been started already`)
    this.startNs = now
    this.#post(now)
  }

  /** Closes the connection. */
  close(now: Nanos): void {
    this.connection.disconnect(now)
  }

  onEstablished(_now: Nanos, connection: Connection): void {
    const sink = readSinkMemory(connection.peerPrivateData)
    if (sink === null) {
      this.error = new WeirError('WEIR_PROTOCOL', `flow ${this.name}: the peer names no memory to write to`)
      connection.disconnect(_now)
      return
    }
    this.#messageBytes = Math.min(this.#messageBytes, sink.length)
    this.#work.rkey = sink.rkey
    this.#work.remoteAddress = sink.address
    this.established = true
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    this.#posted--
    if (completion.status !== WorkStatus.SUCCESS) {
      this.error ??= new WeirError(
        'WEIR_CONNECTION_LOST',
        `flow ${this.name}: a write ended with ${workStatusText(completion.status)}`,
      )
      return
    }
    if (this.#toPost > 0) this.#post(now)
    else if (this.#posted === 0) this.#finish(now)
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    // The reason for the end of the connection says more than the failure of the writes.
    if (!this.#finished && error !== null) this.error = error
    if (!this.#finished)
      this.error ??= new WeirError('WEIR_CONNECTION_LOST', `flow ${this.name}: closed early`)
    this.#end(now)
    this.#verbs.memory.deregister(this.#region)
  }

  #post(now: Nanos): void {
    do {
      this.#work.length = Math.min(this.#messageBytes, this.#toPost)
      if (!this.connection.postSend(now, this.#work)) return
      this.#posted++
      this.#work.id++
      this.#toPost -= this.#work.length
    } while (this.#toPost > 0 && this.#posted < POSTED_MAX)
  }

  #finish(now: Nanos): void {
    this.endNs = now
    this.#end(now)
  }

  #end(now: Nanos): void {
    if (this.#finished) return
    this.#finished = true
    this.#onDone?.(now, this)
  }
}
