/**
 * Two ends of Verbs in memory, to test applications of the NIC without one: bytes move between registered
 * regions, completions come in order, one operation per turn of the event loop. A hook may break or change
 * any operation.
 */
import { WeirError } from '../../lib/errors.js'
import { newConnectionStats } from '../../lib/nic/feedback/connection-stats.js'
import type {
  Connection,
  ConnectionHandler,
  ConnectionStats,
  ConnectOptions,
  Listener,
  Verbs,
} from '../../lib/nic/types.js'
import { Access, DEFAULT_DOMAIN, MemoryTable } from '../../lib/qp/memory/memory.js'
import { Completion, ReceiveOpcode } from '../../lib/qp/queues/completion-queue.js'
import { ReceiveSlot } from '../../lib/qp/queues/receive-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { WorkStatus } from '../../lib/qp/queues/work-status.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'

/**
 * Called before each operation takes effect. It may change `bytes`, which for a READ are the result. 'break'
 * fails the connection. 'lose' does so at this end only, and the other end does not notice; 'unheard' as well, after the operation has taken
 * effect at the other end. 'hold' delays the operation until the next is posted, 'later' until the loop's next turn. Several pieces of bytes
 * are delivered in place of these, each by itself, if the other end has receives for them.
 */
export type Hook = (
  from: FakeVerbs,
  work: SendWork,
  bytes: Uint8Array,
  index: number,
  /** Number of the connection among those that its active end has begun, from 1 on. */
  connection: number,
) => 'break' | 'lose' | 'unheard' | 'hold' | 'later' | readonly Uint8Array[] | undefined

const SEND_DEPTH = 32

export class FakeVerbs implements Verbs {
  readonly memory: MemoryTable
  readonly address: HostAddress
  peer: FakeVerbs | null = null
  hook: Hook = () => undefined
  /** Connections that have not ended. */
  open = 0
  operations = 0
  /** Connections that this end has begun. */
  connects = 0
  /** The other end does not hear that this one has disconnected. */
  leavesUnheard = false
  now: () => Nanos = realTime.now
  readonly listeners = new Map<number, Listener>()
  #keys = 0x1000
  #heldFrom = Number.POSITIVE_INFINITY
  #held: (() => void)[] = []

  constructor(address: string) {
    this.address = HostAddress.parse(address)
    this.memory = new MemoryTable(64, () => this.#keys++)
  }

  listen(port: number, listener: Listener): void {
    this.listeners.set(port, listener)
  }

  unlisten(port: number): void {
    this.listeners.delete(port)
  }

  /** The connections that this end begins, from this one on (1: the first), are made when the function returned is called. */
  holdConnects(from: number): () => void {
    this.#heldFrom = from
    return () => {
      this.#heldFrom = Number.POSITIVE_INFINITY
      for (const make of this.#held.splice(0)) setImmediate(make)
    }
  }

  connect(
    now: Nanos,
    _remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions = {},
  ): Connection {
    this.connects++
    const mine = new FakeConnection(this, handler, this.connects)
    const make = () => {
      const peer = this.peer
      if (mine.ended) return
      if (!peer) {
        mine.end(new WeirError('WEIR_UNREACHABLE', 'nobody answers'))
        return
      }
      const listener = peer.listeners.get(port)
      if (!listener) {
        mine.end(new WeirError('WEIR_REJECTED', 'nobody listens'))
        return
      }
      let theirs: FakeConnection
      try {
        const privateData = options.privateData ?? new Uint8Array()
        const request = { remote: this.address, udpPort: 4791, port, privateData }
        theirs = new FakeConnection(peer, listener.accept(now, request), mine.number)
      } catch (error) {
        mine.end(new WeirError('WEIR_REJECTED', (error as Error).message))
        return
      }
      mine.other = theirs
      theirs.other = mine
      for (const end of [theirs, mine]) end.handler.onCreated?.(now, end)
      for (const end of [theirs, mine]) end.established = true
      for (const end of [theirs, mine]) end.handler.onEstablished(now, end)
    }
    if (this.connects >= this.#heldFrom) this.#held.push(make)
    else setImmediate(make)
    return mine
  }
}

/** Joins two ends. */
export function fakePair(): [FakeVerbs, FakeVerbs] {
  const a = new FakeVerbs('10.0.0.1')
  const b = new FakeVerbs('10.0.0.2')
  a.peer = b
  b.peer = a
  return [a, b]
}

/** A clock for it. */
export const realTime = { now: () => Math.round(performance.now() * 1e6), wake: () => {} }

class FakeConnection implements Connection {
  readonly id = 1
  readonly number: number
  readonly remote: HostAddress
  readonly peerPrivateData = new Uint8Array()
  readonly agreed = new Uint8Array()
  readonly pathMtu = 4096
  readonly stats: ConnectionStats
  readonly verbs: FakeVerbs
  readonly handler: ConnectionHandler
  other: FakeConnection | null = null
  established = false
  ended = false
  readonly #sends: SendWork[] = []
  readonly #receives: ReceiveWork[] = []
  #busy = false

  constructor(verbs: FakeVerbs, handler: ConnectionHandler, number: number) {
    this.number = number
    this.verbs = verbs
    this.handler = handler
    this.remote = verbs.peer?.address ?? verbs.address
    verbs.open++
    this.stats = { ...newConnectionStats(), baseRttNs: 1000, rttNs: 1000, rateBps: 1e9, windowBytes: 1e5 }
  }

  postSend(_now: Nanos, work: SendWork): boolean {
    if (!this.established) throw new WeirError('WEIR_BAD_STATE', 'fake: not established')
    if (this.#sends.length >= SEND_DEPTH) return false
    this.#sends.push(work)
    this.#schedule()
    return true
  }

  postReceive(work: ReceiveWork): boolean {
    if (this.ended) return false
    this.#receives.push(work)
    if (this.other) this.other.#schedule()
    return true
  }

  disconnect(): void {
    setImmediate(() => {
      this.end(null)
      if (!this.verbs.leavesUnheard) this.other?.end(null)
    })
  }

  /** Flushes and closes, once. */
  end(error: WeirError | null): void {
    if (this.ended) return
    this.ended = true
    this.established = false
    this.verbs.open--
    for (const work of this.#sends.splice(0)) this.#complete(work.id, false, WorkStatus.WR_FLUSH_ERR)
    for (const work of this.#receives.splice(0)) this.#complete(work.id, true, WorkStatus.WR_FLUSH_ERR)
    this.handler.onClosed(this.verbs.now(), this, error)
  }

  #schedule(): void {
    if (this.#busy || this.ended) return
    this.#busy = true
    setImmediate(() => {
      this.#busy = false
      this.#step()
    })
  }

  #step(): void {
    const work = this.#sends[0]
    const other = this.other
    if (!work || this.ended || !other || other.ended) return
    const takesReceive = work.opcode === WorkOpcode.SEND || work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
    if (takesReceive && !other.#hasReceive()) return
    const bytes = this.#bytesOf(work, other)
    if (!bytes) {
      this.#breakBoth()
      return
    }
    const verdict = this.verbs.hook(this.verbs, work, bytes, this.verbs.operations++, this.number)
    if (verdict === 'hold') return
    if (verdict === 'later') {
      this.#schedule()
      return
    }
    if (verdict === 'break') {
      this.#breakBoth()
      return
    }
    if (verdict === 'lose') {
      this.end(new WeirError('WEIR_CONNECTION_LOST', 'fake: lost'))
      return
    }
    const pieces = Array.isArray(verdict) ? (verdict as readonly Uint8Array[]) : [bytes]
    if (
      !work.region.valid ||
      !pieces.every(piece => this.#deliver(other, { ...work, length: piece.length }, piece))
    ) {
      this.#breakBoth()
      return
    }
    if (verdict === 'unheard') {
      this.end(new WeirError('WEIR_CONNECTION_LOST', 'fake: lost'))
      return
    }
    this.#sends.shift()
    if (work.opcode !== WorkOpcode.RDMA_READ) this.stats.ackedBytes += work.length
    this.#complete(work.id, false, WorkStatus.SUCCESS, work.opcode, work.length)
    this.#schedule()
  }

  /** There is a receive, which is taken now if the handler has them elsewhere. */
  #hasReceive(): boolean {
    const slot = new ReceiveSlot()
    if (this.#receives.length === 0 && this.handler.receiveSource?.take(slot)) {
      const { id, region, offset, length } = slot
      this.#receives.push({ id, region: region!, offset, length })
    }
    return this.#receives.length > 0
  }

  #deliver(other: FakeConnection, work: SendWork, bytes: Uint8Array): boolean {
    if (work.opcode === WorkOpcode.SEND) {
      const receive = other.#hasReceive() ? other.#receives.shift() : undefined
      if (receive === undefined) return true
      if (bytes.length > receive.length || !receive.region.valid) return false
      receive.region.bytes!.set(bytes, receive.offset)
      other.#complete(receive.id, true, WorkStatus.SUCCESS, ReceiveOpcode.RECV, bytes.length)
      return true
    }
    if (work.opcode === WorkOpcode.RDMA_READ) {
      if (!work.region.allows(Access.LOCAL_WRITE)) return false
      work.region.bytes!.set(bytes, work.offset)
      return true
    }
    const to = remoteBytes(other, work, Access.REMOTE_WRITE)
    if (!to) return false
    to.set(bytes)
    if (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM) {
      const { id } = other.#receives.shift()!
      other.#complete(
        id,
        true,
        WorkStatus.SUCCESS,
        ReceiveOpcode.RECV_RDMA_WITH_IMM,
        bytes.length,
        work.immediate,
      )
    }
    return true
  }

  /** A copy of the bytes that the operation moves. Null when the peer's memory may not be read. */
  #bytesOf(work: SendWork, other: FakeConnection): Uint8Array | null {
    const { region, offset, length } = work
    const isRead = work.opcode === WorkOpcode.RDMA_READ
    const from = isRead
      ? remoteBytes(other, work, Access.REMOTE_READ)
      : region.bytes!.subarray(offset, offset + length)
    return from && new Uint8Array(from)
  }

  #breakBoth(): void {
    this.end(new WeirError('WEIR_CONNECTION_LOST', 'fake: broken'))
    this.other!.end(new WeirError('WEIR_CONNECTION_LOST', 'fake: broken'))
  }

  #complete(
    id: number,
    isReceive: boolean,
    status: WorkStatus,
    opcode: WorkOpcode | ReceiveOpcode = WorkOpcode.SEND,
    byteLength = 0,
    immediate?: number,
  ): void {
    const completion = new Completion()
    Object.assign(completion, { id, isReceive, status, opcode, byteLength })
    completion.hasImmediate = immediate !== undefined
    completion.immediate = immediate ?? 0
    this.handler.onCompletion(this.verbs.now(), this, completion)
  }
}

/** The memory at the other end that an RDMA operation names. Null when it may not use it. */
function remoteBytes(other: FakeConnection, work: SendWork, access: number): Uint8Array | null {
  const region = other.verbs.memory.findIn(other.handler.domain ?? DEFAULT_DOMAIN, work.rkey!)
  const at = work.remoteAddress! - (region?.address ?? 0)
  if (!region?.allows(access) || !region.holds(at, work.length)) return null
  if (access === Access.REMOTE_WRITE && work.length > 0 && !region.admits(at, work.length)) return null
  return region.bytes!.subarray(at, at + work.length)
}
