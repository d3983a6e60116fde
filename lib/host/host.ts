/**
 * RDMA verbs for a program. The NIC runs on a thread of its own. The program posts work and takes completions
 * through queues in memory that both threads share. Payload is not copied on its way to the NIC.
 */

import type { InspectOptions, inspect } from 'node:util'
import { asArgumentError, checkInstance, checkObject } from '../arguments.js'
import type { DatagramService } from '../cm/sidr.js'
import { WeirError } from '../errors.js'
import type { AddressOptions } from '../nic/paced/address-handle.js'
import type { UnconnectedQueuePair } from '../nic/types.js'
import { DEFAULT_DOMAIN, type DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import { readIdentityFile } from '../secure/identity-file.js'
import { KEY_BYTES, rawPrivate } from '../secure/x25519.js'
import { INSPECT, shown } from '../shown.js'
import { errorOf } from '../thread/error-record.js'
import type { OpenService } from '../thread/serve-thread.js'
import { ServiceThread } from '../thread/service-thread.js'
import * as grh from '../wire/ib/grh.js'
import { Doorbell } from './doorbell.js'
import { HostConnection } from './host-connection.js'
import { type HostAddressHandle, HostDatagrams } from './host-datagrams.js'
import type { HostEnd, HostOfEnd } from './host-end.js'
import { HostListener, type ListenOptions } from './host-listener.js'
import type {
  HostConnectOptions,
  HostDatagramOptions,
  HostOptions,
  HostQueuePairOptions,
  HostSharedReceiveQueueOptions,
  HostUnreliableOptions,
} from './host-options.js'
import { HostQueuePair } from './host-queue-pair.js'
import { HostSharedReceiveQueue } from './host-shared-receive-queue.js'
import { HostUnreliable } from './host-unreliable.js'
import type {
  EstablishedConnection,
  FromVerbs,
  MadeDatagramPair,
  MadeUnreliable,
  ResolveOptions,
  ToVerbs,
  VerbsAbout,
  VerbsCalls,
  VerbsStart,
} from './messages.js'
import { checkedOptions } from './option-names.js'
import { Queues } from './queues.js'

/** The thread is terminated if its NIC has not closed within this time. */
const CLOSE_MS_MAX = 5000
const QUEUE_DEPTH = 128
const SHARED_DEPTH = 1024
/** Domains of a host whose NIC has others, which count from 1. */
const DOMAINS_BESIDE = 2 ** 32

/** Memory of a program that its NIC may access. `bytes` is the registered memory. */
export type HostRegion = MemoryRegion & { readonly bytes: Uint8Array }

/** A host with an address, memory regions and connections. */
export class Host {
  readonly #thread: ServiceThread<VerbsAbout>
  readonly #doorbell: Doorbell
  readonly #queueDepth: number
  readonly #regions = new Map<number, MemoryRegion>()
  /** Connections, reliable or not, and datagram queue pairs. */
  readonly #connections = new Map<number, HostEnd>()
  readonly #listeners = new Map<number, HostListener>()
  #lastId = 0
  #lastDomain: DomainId
  #closed: Promise<void> | null = null

  /**
   * Opens the port and starts the NIC's thread. `queueDepth`, of each queue of a connection, is a power of
   * two here, 2 to 32768, default 128. Throws WEIR_BAD_ARGUMENT for an option out of range or an address that
   * cannot be bound. Throws WEIR_UNSUPPORTED for an io that this machine does not offer. With `raw` the NIC runs on the caller's thread, which
   * must be the main thread of the process: no other one has raw sockets.
   */
  static async open(options: HostOptions): Promise<Host> {
    const { onDefect, identity, ...others } = checkedOptions('Host.open', options)
    const nicOptions = { ...others, ...(identity === undefined ? {} : { identity: privateKeyOf(identity) }) }
    const { queueDepth = QUEUE_DEPTH } = nicOptions
    const runs =
      nicOptions.io === 'raw' ? await onThisThread() : new URL('./verbs-thread.js', import.meta.url)
    return await Host.#start(runs, { ...nicOptions, queueDepth }, onDefect)
  }

  /**
   * A host over a NIC of this thread that others use too, as a daemon's: `open` makes its end there. Its owner hears of defects.
   *
   * @internal
   */
  static async over(
    open: OpenService<VerbsStart>,
    settings: VerbsStart['options'] & { queueDepth: number },
  ): Promise<Host> {
    return await Host.#start(open, settings, () => {}, DOMAINS_BESIDE)
  }

  static async #start(
    runs: URL | OpenService<VerbsStart>,
    options: VerbsStart['options'] & { queueDepth: number },
    onDefect?: (error: unknown) => void,
    firstDomain = DEFAULT_DOMAIN,
  ): Promise<Host> {
    const { queueDepth } = options
    Queues.make(queueDepth)
    const doorbell = new Doorbell()
    const start: VerbsStart = { options, doorbell: doorbell.memory }
    let host: Host | null = null
    const opening = ServiceThread.open<VerbsAbout>(runs, {
      what: 'the NIC',
      start,
      onEvent: (event: FromVerbs) => {
        if (host !== null) host.#onEvent(event)
      },
      onDefect: error => {
        if (host !== null) host.#onDefect(error)
        if (onDefect) onDefect(error)
        else throw error
      },
    })
    const thread = await opening.catch(error => {
      throw asArgumentError('Host.open', error)
    })
    host = new Host(thread, doorbell, queueDepth, firstDomain)
    return host
  }

  private constructor(
    thread: ServiceThread<VerbsAbout>,
    doorbell: Doorbell,
    queueDepth: number,
    firstDomain: DomainId,
  ) {
    this.#thread = thread
    this.#doorbell = doorbell
    this.#queueDepth = queueDepth
    this.#lastDomain = firstDomain
  }

  /** Places of each queue of a connection. */
  get queueDepth(): number {
    return this.#queueDepth
  }

  /** Address, UDP port, io, line rate in bit/s and path MTU in bytes of the NIC. */
  get about(): VerbsAbout {
    return this.#thread.about
  }

  /**
   * Allocates a protection domain, like `ibv_alloc_pd`. Connections of a domain and their peers reach only
   * memory that is registered with it. A domain costs nothing and is never freed. The default domain of
   * connections and memory is the host's, 0.
   */
  newDomain(): DomainId {
    return ++this.#lastDomain
  }

  /**
   * Registers memory with the NIC. Work requests name it by the region, peers by the region's `address` and
   * `key`. Do not change the bytes before a send of them has completed. Do not use them before a receive or
   * READ into them has.
   *
   * @param memory a SharedArrayBuffer, or a view of a part of one
   * @param access a sum of `Access`: what the NIC and peers may do with it
   * @param domain protection domain: from `newDomain`, or a connection's
   *
   * Throws WEIR_BAD_ARGUMENT for memory that is not shared, unknown rights and unknown domains, and WEIR_FULL
   * when the NIC has 65,536 regions.
   */
  async register(
    memory: SharedArrayBuffer | Uint8Array,
    access: number,
    domain: DomainId = DEFAULT_DOMAIN,
  ): Promise<HostRegion> {
    this.#checkDomain('register', domain)
    const bytes = memory instanceof SharedArrayBuffer ? new Uint8Array(memory) : memory
    if (!(bytes instanceof Uint8Array) || !(bytes.buffer instanceof SharedArrayBuffer)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        'memory region: the NIC is on another thread, so the memory must be a SharedArrayBuffer or a Uint8Array of one',
      )
    }
    const { key, address } = (await this.#call('register', { bytes, access, domain })) as {
      key: number
      address: number
    }
    const region = new MemoryRegion(key, address, bytes.length, bytes, access, domain)
    this.#regions.set(key, region)
    return region as HostRegion
  }

  /**
   * Deregisters a region. Work that still names it fails with LOC_PROT_ERR, a peer's with REM_ACCESS_ERR. Has
   * no effect the second time.
   */
  async deregister(region: MemoryRegion): Promise<void> {
    checkInstance('deregister', 'region', MemoryRegion, region)
    if (this.#regions.get(region.key) !== region) return
    region.valid = false
    this.#regions.delete(region.key)
    await this.#call('deregister', { key: region.key })
  }

  /**
   * Connects to a listener of another host or of this one. Resolves when the connection is established.
   *
   * @param remote a literal address
   * @param port of the connection manager (RDMA_PS_TCP), 1 to 65535
   *
   * Throws WEIR_UNREACHABLE when nobody answers, WEIR_REJECTED when nobody listens there, WEIR_BAD_ARGUMENT
   * for an option out of its range, WEIR_FULL when the host has 1,024 connections, and WEIR_CANCELLED after
   * `signal`.
   */
  async connect(remote: string, port: number, options: HostConnectOptions = {}): Promise<HostConnection> {
    const given = checkedOptions('connect', options)
    const { receives = [], signal, domain = DEFAULT_DOMAIN, sharedReceiveQueue, ...rest } = given
    if (signal !== undefined) checkInstance('connect', 'signal', AbortSignal, signal)
    if (rest.privateData !== undefined) checkInstance('connect', 'privateData', Uint8Array, rest.privateData)
    const connection = this.#newConnection('connect', receives, domain, sharedReceiveQueue)
    try {
      const shared = { queues: connection.shared, domain, sharedReceiveQueue: sharedReceiveQueue?.id ?? null }
      const body = { id: connection.id, remote, port, options: rest, ...shared }
      const context = signal && { signal, progress: () => {} }
      connection.onEstablished((await this.#call('connect', body, context)) as EstablishedConnection)
      return connection
    } catch (error) {
      this.#connections.delete(connection.id)
      throw withReason(error, signal)
    }
  }

  /**
   * Makes a queue pair for a program at another host that does without the connection manager. Path MTU and the other options are
   * for both ends to agree on. Throws WEIR_UNSUPPORTED on a host with a secret, else as `connect`.
   *
   * With `type: 'uc'` it is an unreliable connection: SEND and RDMA_WRITE alone, nothing is acknowledged or retransmitted, and of a message
   * of which a packet is lost nothing arrives. All of them, and datagrams, together take at most a quarter of the line rate.
   *
   * @param remote a literal address
   */
  createQueuePair(remote: string, options?: HostQueuePairOptions): Promise<HostQueuePair>
  createQueuePair(remote: string, options: HostUnreliableOptions): Promise<HostQueuePair<HostUnreliable>>
  async createQueuePair(
    remote: string,
    options: HostQueuePairOptions | HostUnreliableOptions = {},
  ): Promise<HostQueuePair | HostQueuePair<HostUnreliable>> {
    checkObject('createQueuePair', 'options', options)
    const { type = 'rc' } = options
    if (type !== 'rc' && type !== 'uc')
      throw new WeirError('WEIR_BAD_ARGUMENT', `createQueuePair: type is rc or uc, not ${type}`)
    return options.type === 'uc'
      ? await this.#createUnreliable(remote, checkedOptions('createQueuePair of type uc', options))
      : await this.#createReliable(remote, checkedOptions('createQueuePair', options))
  }

  async #createReliable(remote: string, options: HostQueuePairOptions): Promise<HostQueuePair> {
    const { receives = [], domain = DEFAULT_DOMAIN, sharedReceiveQueue, type: _, ...rest } = options
    const connection = this.#newConnection('createQueuePair', receives, domain, sharedReceiveQueue)
    const { id } = connection
    try {
      const shared = { queues: connection.shared, domain, sharedReceiveQueue: sharedReceiveQueue?.id ?? null }
      const body = { id, remote, options: rest, ...shared }
      const made = (await this.#call('createQueuePair', body)) as UnconnectedQueuePair
      return new HostQueuePair(made, connection, {
        connect: async peer => {
          checkObject('connect', '{ qpn, psn } of the other end', peer)
          const { qpn, psn } = peer
          const answer = await this.#call('connectQueuePair', { id, peer: { qpn, psn } })
          connection.onEstablished(answer as EstablishedConnection)
        },
        close: () => connection.disconnect(),
      })
    } catch (error) {
      this.#connections.delete(id)
      throw error
    }
  }

  async #createUnreliable(
    remote: string,
    options: HostUnreliableOptions,
  ): Promise<HostQueuePair<HostUnreliable>> {
    const { receives = [], domain = DEFAULT_DOMAIN, sharedReceiveQueue, type: _, ...rest } = options
    this.#checkDomain('createQueuePair', domain)
    const id = ++this.#lastId
    const end = new HostUnreliable(id, Queues.make(this.#queueDepth), this.#face, domain)
    this.#share('createQueuePair', end, sharedReceiveQueue)
    this.#postReceives('createQueuePair', end, receives)
    this.#connections.set(id, end)
    try {
      const shared = { queues: end.shared, domain, sharedReceiveQueue: sharedReceiveQueue?.id ?? null }
      const body = { id, remote, options: rest, ...shared }
      const made = (await this.#call('createUnreliable', body)) as MadeUnreliable
      end.onMade(made)
      return new HostQueuePair(made, end, {
        connect: async peer => {
          checkObject('connect', '{ qpn } of the other end', peer)
          await this.#call('connectUnreliable', { id, qpn: peer.qpn })
        },
        close: () => end.disconnect(),
      })
    } catch (error) {
      this.#connections.delete(id)
      throw error
    }
  }

  /**
   * Makes a queue pair for datagrams (UD). It sends and receives at once. All datagrams of a host together take at most a quarter of
   * its line rate: nothing reports congestion to their sender. Throws WEIR_BAD_ARGUMENT for an option out of range, WEIR_FULL when the
   * host has 256 of them, and WEIR_UNSUPPORTED on a host with a secret.
   */
  async createDatagramPair(options: HostDatagramOptions): Promise<HostDatagrams> {
    const given = checkedOptions('createDatagramPair', options)
    const { domain = DEFAULT_DOMAIN, sharedReceiveQueue, ...rest } = given
    this.#checkDomain('createDatagramPair', domain)
    const id = ++this.#lastId
    const pair = new HostDatagrams(id, Queues.make(this.#queueDepth), this.#face, domain, grh.BYTES)
    this.#share('createDatagramPair', pair, sharedReceiveQueue)
    this.#connections.set(id, pair)
    try {
      const body = {
        id,
        options: rest,
        queues: pair.shared,
        domain,
        sharedReceiveQueue: sharedReceiveQueue?.id ?? null,
      }
      pair.onMade((await this.#call('createDatagramPair', body)) as MadeDatagramPair)
      return pair
    } catch (error) {
      this.#connections.delete(id)
      throw error
    }
  }

  /**
   * Makes a queue of receives that queue pairs share (ibv_create_srq; IBA 10.2.9): give it as `sharedReceiveQueue` to `connect`, `listen`,
   * `createQueuePair` and `createDatagramPair`. Throws WEIR_BAD_ARGUMENT unless `depth`, default 1024, is a power of two from 2 to 32768,
   * and WEIR_FULL when the host has 256 of them.
   */
  async createSharedReceiveQueue(
    options: HostSharedReceiveQueueOptions = {},
  ): Promise<HostSharedReceiveQueue> {
    const given = checkedOptions('createSharedReceiveQueue', options)
    const { depth = SHARED_DEPTH, domain = DEFAULT_DOMAIN } = given
    this.#checkDomain('createSharedReceiveQueue', domain)
    const made = new HostSharedReceiveQueue(++this.#lastId, depth, domain, this.#face)
    await this.#call('createSharedReceiveQueue', { id: made.id, ring: made.ring.ring.memory, domain })
    return made
  }

  /**
   * A host that datagrams go to. Its `id` is the `to.address` of work requests. Throws WEIR_UNSUPPORTED for multicast and broadcast
   * addresses, WEIR_BAD_ARGUMENT for one of another family than this host's, and WEIR_FULL when the host has 4,096 handles.
   *
   * @param remote a literal address
   */
  async createAddress(remote: string, options: AddressOptions = {}): Promise<HostAddressHandle> {
    const given = checkedOptions('createAddress', options)
    const id = (await this.#call('createAddress', { remote, options: given })) as number
    return { id, remote }
  }

  /** Gives the handle back. Datagrams that have not left and name it fail with LOC_QP_OP_ERR. */
  async destroyAddress(handle: HostAddressHandle): Promise<void> {
    checkObject('destroyAddress', 'the address handle', handle)
    if (!Number.isInteger(handle.id))
      throw new WeirError('WEIR_BAD_ARGUMENT', 'destroyAddress: what it was given is no address handle')
    await this.#call('destroyAddress', { id: handle.id })
  }

  /**
   * Tells whoever asks for that port (RDMA_PS_UDP of librdmacm, 1 to 65535) the QPN and Q_Key of the queue pair, until
   * `unserveDatagrams` or until the queue pair ends. Throws WEIR_BAD_STATE if the port is taken.
   *
   * @param privateData at most 136 bytes for who asks
   */
  async serveDatagrams(port: number, pair: HostDatagrams, privateData = new Uint8Array(0)): Promise<void> {
    checkInstance('serveDatagrams', 'pair', HostDatagrams, pair)
    checkInstance('serveDatagrams', 'privateData', Uint8Array, privateData)
    await this.#call('serveDatagrams', { port, id: pair.id, privateData })
  }

  /** From now on nobody has that port. */
  async unserveDatagrams(port: number): Promise<void> {
    await this.#call('unserveDatagrams', { port })
  }

  /**
   * Asks a host which queue pair has a port of RDMA_PS_UDP. Throws WEIR_REJECTED when nobody has it or the program there refuses,
   * and WEIR_UNREACHABLE when nobody answers for 8 s.
   */
  async resolveDatagrams(
    remote: string,
    port: number,
    options: ResolveOptions = {},
  ): Promise<DatagramService> {
    const given = checkedOptions('resolveDatagrams', options)
    const { privateData } = given
    if (privateData !== undefined) checkInstance('resolveDatagrams', 'privateData', Uint8Array, privateData)
    return (await this.#call('resolveDatagrams', { remote, port, options: given })) as DatagramService
  }

  /** A connection that has its receives, and is known before the NIC is: it may end before the answer arrives. */
  #newConnection(
    what: string,
    receives: readonly ReceiveWork[],
    domain: DomainId,
    shared: HostSharedReceiveQueue | undefined,
  ): HostConnection {
    this.#checkDomain(what, domain)
    checkInstance(what, 'receives', Array, receives)
    const connection = new HostConnection(++this.#lastId, Queues.make(this.#queueDepth), this.#face, domain)
    this.#share(what, connection, shared)
    this.#postReceives(what, connection, receives)
    this.#connections.set(connection.id, connection)
    return connection
  }

  #share(what: string, end: HostEnd, shared: HostSharedReceiveQueue | undefined): void {
    if (shared === undefined) return
    this.#checkShared(what, end.domain, shared)
    end.sharesReceives = true
  }

  #checkShared(what: string, domain: DomainId | 'own', shared: HostSharedReceiveQueue): void {
    checkInstance(what, 'sharedReceiveQueue', HostSharedReceiveQueue, shared)
    if (shared.domain === domain) return
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${what}: sharedReceiveQueue is of protection domain ${shared.domain}, not ${domain}; make it with the same domain`,
    )
  }

  #postReceives(what: string, end: HostConnection | HostUnreliable, receives: readonly ReceiveWork[]): void {
    for (const receive of receives) {
      if (end.postReceive(receive)) continue
      throw new WeirError('WEIR_FULL', `${what}: a queue has ${this.#queueDepth} places for receives`)
    }
  }

  /**
   * Accepts connections to a port of the connection manager, 1 to 65535, until the listener is closed.
   * Throws WEIR_BAD_STATE if the port is taken, WEIR_BAD_ARGUMENT for an option out of its range.
   */
  async listen(port: number, options: ListenOptions = {}): Promise<HostListener> {
    const given = checkedOptions('listen', options)
    const { sharedReceiveQueue, domain: wanted = DEFAULT_DOMAIN } = given
    if (wanted !== 'own') this.#checkDomain('listen', wanted)
    if (sharedReceiveQueue !== undefined) this.#checkShared('listen', wanted, sharedReceiveQueue)
    const listener = new HostListener(port, given, {
      accepted: async id => {
        await this.#call('accept', { id })
      },
      closed: async () => {
        if (this.#listeners.get(port) === listener) this.#listeners.delete(port)
        if (this.#closed === null) await this.#call('unlisten', { port })
      },
    })
    const { backlog, privateData, domain } = listener
    const before = this.#listeners.get(port)
    this.#listeners.set(port, listener)
    try {
      await this.#call('listen', {
        port,
        backlog,
        privateData,
        domain,
        sharedReceiveQueue: sharedReceiveQueue?.id ?? null,
      })
    } catch (error) {
      if (before === undefined) this.#listeners.delete(port)
      else this.#listeners.set(port, before)
      throw error
    }
    return listener
  }

  /**
   * Disconnects all connections in order, closes the port and ends the thread. Work that has not completed
   * completes with WR_FLUSH_ERR, which can still be polled. Has no effect the second time.
   */
  async close(): Promise<void> {
    this.#closed ??= this.#close()
    await this.#closed
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    return { ...this.about, isClosed: this.#closed !== null }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }

  async #close(): Promise<void> {
    for (const listener of this.#listeners.values()) listener.onHostClosed()
    await this.#thread.close(CLOSE_MS_MAX)
    for (const connection of [...this.#connections.values()]) this.#onClosed(connection.id, null)
    for (const region of this.#regions.values()) region.valid = false
    this.#regions.clear()
  }

  /** Throws WEIR_BAD_ARGUMENT unless `newDomain` returned the domain or one of the connections has it. */
  #checkDomain(what: string, domain: DomainId): void {
    if (Number.isInteger(domain) && domain >= DEFAULT_DOMAIN && domain <= this.#lastDomain) return
    for (const connection of this.#connections.values()) if (connection.domain === domain) return
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${what}: domain is one that newDomain() of this host gave, or connection.domain, not ${String(domain)}; that of a connection is gone with it`,
    )
  }

  /** Handles a report of the NIC's thread. */
  #onEvent(event: FromVerbs): void {
    if (event.type === 'completions') this.#connections.get(event.id)?.onCompletions()
    else if (event.type === 'closed') this.#onClosed(event.id, event.error && errorOf(event.error))
    else this.#onIncoming(event)
  }

  #onDefect(error: unknown): void {
    const lost = new WeirError('WEIR_CONNECTION_LOST', 'the NIC has stopped by a defect', { cause: error })
    for (const connection of [...this.#connections.values()]) this.#onClosed(connection.id, lost)
    for (const listener of this.#listeners.values()) listener.onHostClosed()
  }

  #onIncoming({
    port,
    connection: about,
    queues,
    sharesReceives,
  }: Extract<FromVerbs, { type: 'incoming' }>): void {
    const listener = this.#listeners.get(port)
    // The listener was closed meanwhile. The NIC itself ends its connections.
    if (listener === undefined) return
    const connection = new HostConnection(about.id, new Queues(queues), this.#face, about.domain)
    connection.sharesReceives = sharesReceives
    this.#connections.set(about.id, connection)
    connection.onEstablished(about)
    listener.onIncoming(connection)
  }

  #onClosed(id: number, error: Error | null): void {
    const connection = this.#connections.get(id)
    this.#connections.delete(id)
    connection?.onClosed(error)
  }

  /** What connections need from their host. */
  readonly #face: HostOfEnd = {
    call: (kind, body) => this.#call(kind, body),
    ring: bell => {
      const wake: ToVerbs = { type: 'wake' }
      if (this.#doorbell.ring(bell)) this.#thread.tell(wake)
    },
    regionOf: key => this.#regions.get(key),
  }

  async #call<K extends keyof VerbsCalls>(
    kind: K,
    body: VerbsCalls[K],
    context?: { signal: AbortSignal; progress: () => void },
  ): Promise<unknown> {
    if (this.#closed !== null) throw new WeirError('WEIR_BAD_STATE', `${kind}: the host is closed`)
    try {
      return await this.#thread.call(kind, body, context)
    } catch (error) {
      throw asArgumentError(kind, error)
    }
  }
}

/** The NIC's thread knows that an attempt was cancelled, and not why. */
function withReason(error: unknown, signal: AbortSignal | undefined): unknown {
  const isCancelled = signal?.aborted && error instanceof WeirError && error.code === 'WEIR_CANCELLED'
  return isCancelled ? new WeirError(error.code, error.message, { cause: signal.reason }) : error
}

/** Throws WEIR_NO_FILE, WEIR_BAD_ARGUMENT. */
function privateKeyOf(identity: string | Uint8Array): Uint8Array {
  if (typeof identity === 'string') return Uint8Array.from(rawPrivate(readIdentityFile(identity)))
  checkInstance('Host.open', 'identity', Uint8Array, identity)
  if (identity.length === KEY_BYTES) return identity
  const text = `Host.open: identity has ${identity.length} bytes, a private key has ${KEY_BYTES}: give the path of its file`
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}

/** The NIC as a service of the caller's thread. It is loaded only where it is needed. */
async function onThisThread(): Promise<OpenService<VerbsStart>> {
  const { VerbsService } = await import('./verbs-service.js')
  return (start, events) => VerbsService.open(start, events)
}
