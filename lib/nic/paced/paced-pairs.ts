import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import { DatagramCounters, DatagramQueuePair } from '../../qp/datagram/datagram-queue-pair.js'
import { DEFAULT_DOMAIN, type MemoryTable } from '../../qp/memory/memory.js'
import { Completion, CompletionQueue } from '../../qp/queues/completion-queue.js'
import { UnreliableCounters } from '../../qp/unreliable/counters.js'
import { UnreliableQueuePair } from '../../qp/unreliable/unreliable-queue-pair.js'
import { MICROSECOND, type Nanos, NEVER, serialisationNs } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import { checkTransport, type NicSettings } from '../config.js'
import type { FlowTable } from '../flow/flow-table.js'
import { pathMtuByHand } from '../flow/plain-path-mtu.js'
import type { HostHeaders } from '../tx/host-headers.js'
import type { PfcReceiver } from '../tx/pfc-receiver.js'
import type { TxPipeline } from '../tx/tx-pipeline.js'
import { AddressHandle, type AddressOptions } from './address-handle.js'
import { type DatagramOptions, DatagramPair } from './datagram-pair.js'
import { NO_ADDRESS, type PacedHandler, type PacedPair } from './paced-pair.js'
import { type UnreliableOptions, UnreliablePair } from './unreliable-pair.js'

/** Queue pairs of both kinds together, and address handles, at a time. */
const PAIRS_MAX = 256
const ADDRESSES_MAX = 4096
/** How long to wait before asking again whether the switch has resumed a priority. */
const PAUSED_RETRY_NS = 10 * MICROSECOND
/** Part of the line rate that all of them together may take. Nothing acknowledges their packets, so nothing reports congestion. */
const RATE_SHARE = 0.25

/** What they need of their NIC. */
interface Host {
  readonly settings: NicSettings
  readonly memory: MemoryTable
  readonly table: FlowTable
  readonly headers: HostHeaders
  readonly pfc: PfcReceiver
  /** A defect has shown: throws it, or counts it. */
  countDefect(defect: unknown): void
}

/** The queue pairs of a NIC that nobody acknowledges: datagrams, with their address handles, and unreliable connections. */
export class PacedPairs {
  readonly datagram = new DatagramCounters()
  readonly unreliable = new UnreliableCounters()
  readonly #nic: Host
  readonly #pairs = new Map<number, PacedPair>()
  readonly #addresses = new Map<number, AddressHandle>()
  #lastAddress = 0
  /** Pairs that have something to send, each once, in the order of their turns. */
  readonly #ready: PacedPair[] = []
  /** When the next packet may leave. */
  #nextNs: Nanos = 0
  readonly #rateBps: number
  readonly #completion = new Completion()

  constructor(nic: Host) {
    this.#nic = nic
    this.#rateBps = RATE_SHARE * nic.settings.lineRateBps
  }

  /** A queue pair that sends and receives datagrams at once. Throws WEIR_BAD_ARGUMENT, WEIR_FULL. */
  createDatagram(now: Nanos, handler: PacedHandler, { qkey, pathMtu }: DatagramOptions): DatagramPair {
    const config = this.#configFor('datagram queue pair', handler, pathMtu)
    // Nobody else has to know: a longer datagram is refused where it is posted.
    const bytes = Math.min(config.pathMtu, this.#nic.settings.pathMtu)
    const { completions } = config
    const qp = new DatagramQueuePair({ ...config, pathMtu: bytes, qkey }, this.datagram)
    return this.#add(now, new DatagramPair(qp, completions, handler, this))
  }

  /** A queue pair for an unreliable connection. Throws as `createDatagram` and `createAddress`. */
  createUnreliable(
    now: Nanos,
    remote: HostAddress,
    handler: PacedHandler,
    { pathMtu, ...options }: UnreliableOptions,
  ): UnreliablePair {
    const { memory, settings } = this.#nic
    const to = this.createAddress(remote, options)
    try {
      const what = 'unreliable queue pair'
      const config = this.#configFor(what, handler, pathMtuByHand(what, pathMtu, settings))
      const qp = new UnreliableQueuePair(
        { ...config, memory, psn: settings.random() & 0xffffff },
        this.unreliable,
      )
      return this.#add(now, new UnreliablePair(qp, to, config.completions, handler, this))
    } catch (error) {
      this.destroyAddress(to.id)
      throw error
    }
  }

  #configFor(what: string, handler: PacedHandler, pathMtu: number | undefined) {
    const { settings, table } = this.#nic
    if (settings.secret !== undefined)
      throw new WeirError(
        'WEIR_UNSUPPORTED',
        `${what}: a host with a key takes only packets of connections that prove it`,
      )
    if (pathMtu !== undefined) checkTransport('pathMtu', pathMtu)
    if (this.#pairs.size >= PAIRS_MAX)
      throw new WeirError(
        'WEIR_FULL',
        `${what}: all ${PAIRS_MAX} queue pairs of datagrams and unreliable connections of this host are in use`,
      )
    return {
      qpn: table.reserveQpn(),
      domain: handler.domain ?? DEFAULT_DOMAIN,
      pathMtu: pathMtu ?? settings.pathMtu,
      queueDepth: settings.queueDepth,
      receiveSource: handler.receiveSource ?? null,
      completions: new CompletionQueue(2 * settings.queueDepth),
    }
  }

  #add<Pair extends PacedPair>(now: Nanos, pair: Pair): Pair {
    this.#pairs.set(pair.id, pair)
    pair.handler.onCreated?.(now, pair)
    return pair
  }

  /** Throws as AddressHandle, and WEIR_FULL. */
  createAddress(remote: HostAddress, options: AddressOptions = {}): AddressHandle {
    if (this.#addresses.size >= ADDRESSES_MAX)
      throw new WeirError('WEIR_FULL', `all ${ADDRESSES_MAX} address handles of this host are in use`)
    const { settings, headers } = this.#nic
    const handle = new AddressHandle(++this.#lastAddress, remote, options, settings, headers)
    this.#addresses.set(handle.id, handle)
    return handle
  }

  /** Datagrams that still name it fail with LOC_QP_OP_ERR. */
  destroyAddress(id: number): void {
    this.#addresses.delete(id)
  }

  has(qpn: number): boolean {
    return this.#pairs.has(qpn)
  }

  /** False if none of them has that number. */
  onPacket(now: Nanos, frame: Frame, qpn: number): boolean {
    const pair = this.#pairs.get(qpn)
    if (pair === undefined) return false
    frame.bringIn()
    pair.onPacket(frame)
    this.#deliver(now, pair)
    return true
  }

  /** When the next packet may leave: at once is 0. */
  nextTimeout(): Nanos {
    return this.#ready.length === 0 ? NEVER : this.#nextNs
  }

  /** True if `poll` may have a packet now. */
  isDue(now: Nanos): boolean {
    return this.#ready.length > 0 && this.#nextNs <= now
  }

  /** The next packet, or null: it is not time, none waits, or no frame is free. */
  poll(now: Nanos, tx: TxPipeline): Frame | null {
    // Each pair has a turn at most: PFC may hold some.
    for (let n = this.#ready.length; n > 0 && this.#nextNs <= now; n--) {
      const pair = this.#ready[0]!
      const frame = this.#send(now, pair, tx)
      if (frame === undefined) return null
      this.#ready.shift()
      if (pair.nextAddress === NO_ADDRESS) pair.isReady = false
      else this.#ready.push(pair)
      this.#deliver(now, pair)
      if (frame !== null) return frame
    }
    // All that have something to send are paused.
    if (this.isDue(now)) this.#nextNs = now + PAUSED_RETRY_NS
    return null
  }

  /** Null: the pair has nothing that may leave now; undefined: no frame is free. */
  #send(now: Nanos, { qp, nextAddress }: PacedPair, tx: TxPipeline): Frame | null | undefined {
    if (nextAddress === NO_ADDRESS) return null
    const handle = this.#addresses.get(nextAddress)
    if (handle === undefined) {
      qp.failNext()
      return null
    }
    if (this.#nic.pfc.isHeld(handle.priority)) return null
    const { noFrame } = tx.counters
    const frame = tx.unacknowledged(handle.headers, handle.udpPort, qp)
    if (frame === null) return tx.counters.noFrame > noFrame ? undefined : null
    const from = Math.max(this.#nextNs, now - this.#nic.settings.slackNs)
    this.#nextNs = from + serialisationNs(frame.wireLength, this.#rateBps)
    return frame
  }

  // ---- For the pairs

  onPosted(pair: PacedPair): void {
    if (pair.isReady || pair.nextAddress === NO_ADDRESS) return
    pair.isReady = true
    this.#ready.push(pair)
  }

  onClosed(now: Nanos, pair: PacedPair): void {
    this.#pairs.delete(pair.id)
    if (pair instanceof UnreliablePair) this.destroyAddress(pair.to.id)
    this.#nic.table.releaseQpn(pair.id)
    this.#deliver(now, pair)
    pair.handler.onClosed(now, pair, null)
  }

  #deliver(now: Nanos, pair: PacedPair): void {
    try {
      while (pair.completions.poll(this.#completion)) pair.handler.onCompletion(now, pair, this.#completion)
    } catch (defect) {
      this.#nic.countDefect(defect)
    }
  }
}
