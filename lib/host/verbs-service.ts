import { setTimeout as sleep } from 'node:timers/promises'
import type { DatagramService } from '../cm/sidr.js'
import { WeirError } from '../errors.js'
import { plainPathMtu } from '../nic/flow/plain-path-mtu.js'
import { DatagramPair } from '../nic/paced/datagram-pair.js'
import type { PacedPair } from '../nic/paced/paced-pair.js'
import { UnreliablePair } from '../nic/paced/unreliable-pair.js'
import type { Verbs } from '../nic/types.js'
import { closeNic, type OpenedNic, openNic } from '../open-nic/open-nic.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import { sealVerbs } from '../secure/seal-verbs.js'
import type { SealedVerbs } from '../secure/sealed-verbs.js'
import { recordOf } from '../thread/error-record.js'
import type { CallContext } from '../thread/messages.js'
import type { Service, ServiceEvents } from '../thread/serve-thread.js'
import type { Nanos } from '../time/nanos.js'
import { HostAddress } from '../wire/net/address.js'
import { BELLS_MAX, Doorbell } from './doorbell.js'
import { DoorbellWaiter } from './doorbell-waiter.js'
import { HostedConnection, type HostedEvents } from './hosted-connection.js'

import { HostedListener } from './hosted-listener.js'
import { HostedPaced } from './hosted-paced.js'
import { HostedSharedReceiveQueue } from './hosted-shared-receive-queue.js'
import { GONE } from './hosted-work.js'
import type {
  FromVerbs,
  MadeDatagramPair,
  MadeUnreliable,
  UnreliableStats,
  VerbsAbout,
  VerbsCalls,
  VerbsStart,
} from './messages.js'
import { Queues } from './queues.js'
import { WorkRing } from './work-ring.js'

/** How long connections may take to end when the host is closed. */
const GRACE_MS = 2000
const LOOK_EVERY_MS = 5
const SHARED_RECEIVE_QUEUES_MAX = 256
const HANDSHAKE_TICK_MS = 1000

const SEALING_NAMES = {
  identity: 'identity',
  peers: 'peers',
  acceptNew: 'acceptNew',
  allowClear: 'allowClear',
  secret: 'secret',
} as const

type Answers = { [K in keyof VerbsCalls]: (body: VerbsCalls[K], context: CallContext) => unknown }

/** A call that waits for an outgoing connection. */
interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Who has the NIC. */
interface Owner {
  /** Its loop knows of the bell, and so needs to be woken only while it sleeps. */
  seesBell: boolean
  /** Closes the NIC, unless it stays for others. */
  close(): Promise<void>
}

/** A NIC on this thread for an application on another one, or on this one. */
export class VerbsService implements Service, HostedEvents {
  readonly about: VerbsAbout
  readonly #opened: OpenedNic
  /** Null: connections are in the clear. */
  readonly #sealed: SealedVerbs | null
  readonly #handshakes: NodeJS.Timeout | null
  readonly #events: ServiceEvents
  readonly #doorbell: Doorbell
  readonly #owner: Owner
  /** Queue pairs by their number at the doorbell. */
  readonly #byBell: (HostedConnection | HostedPaced | null)[] = new Array(BELLS_MAX).fill(null)
  /**
   * Time of the current round. The function that handles a connection that rang is made once and not in each
   * round.
   */
  #now: Nanos = 0
  readonly #takeOf = (bell: number): void => this.#byBell[bell]?.take(this.#now)
  readonly #byId = new Map<number, HostedConnection>()
  /** Datagram queue pairs and unreliable connections. */
  readonly #paced = new Map<number, HostedPaced>()
  readonly #sharedReceiveQueues = new Map<number, HostedSharedReceiveQueue>()
  readonly #connecting = new Map<number, Waiting>()
  /** Ids of queue pairs that programs connect by means of their own. */
  readonly #pairs = new Set<number>()
  readonly #listeners = new Map<number, HostedListener>()
  #lastIncoming = 0

  static async open({ options, doorbell: memory }: VerbsStart, events: ServiceEvents): Promise<VerbsService> {
    const doorbell = new Doorbell(memory)
    let service: VerbsService | null = null
    const opened = await openNic(
      options,
      { onStopped: error => events.defect(error) },
      {
        onRound: now => service?.takeWork(now),
        waiterWith: waiter => new DoorbellWaiter(doorbell, waiter),
      },
    )
    const close = () => closeNic(opened)
    try {
      service = new VerbsService(opened, options, doorbell, events, { seesBell: true, close })
      return service
    } catch (error) {
      await close()
      throw error
    }
  }

  /** On a NIC that others use too. Its owner calls `takeWork` as each round of the loop begins, and closes the NIC after this. */
  static over(opened: OpenedNic, { options, doorbell }: VerbsStart, events: ServiceEvents): VerbsService {
    const owner = { seesBell: false, close: async () => {} }
    return new VerbsService(opened, options, new Doorbell(doorbell), events, owner)
  }

  private constructor(
    opened: OpenedNic,
    options: VerbsStart['options'],
    doorbell: Doorbell,
    events: ServiceEvents,
    owner: Owner,
  ) {
    const { address, udpPort: port, io, nic } = opened
    const { lineRateBps, pathMtu } = nic.settings
    this.about = {
      address: address.toString(),
      port,
      io,
      lineRateBps,
      pathMtu,
      plainPathMtu: plainPathMtu(nic.settings),
    }
    this.#opened = opened
    // A secret alone tags feedback, as ever: a program's connections are sealed by a key of the host.
    const isSealed = options.identity !== undefined
    this.#sealed = sealVerbs(nic, options, isSealed ? options.secret : undefined, SEALING_NAMES, () => null)
    this.#handshakes = isSealed ? setInterval(() => this.#tickHandshakes(), HANDSHAKE_TICK_MS).unref() : null
    this.#doorbell = doorbell
    this.#owner = owner
    this.#events = events
    if (!owner.seesBell) doorbell.sleep()
  }

  /** Where connections are made. */
  get #verbs(): Verbs {
    return this.#sealed ?? this.#opened.nic
  }

  #tickHandshakes(): void {
    this.#sealed!.tick(this.#opened.loop.now())
    this.#opened.loop.wake()
  }

  /** Throws WEIR_UNSUPPORTED for what would be in the clear, or cannot be sealed, on a host with a key. */
  #refuseIfSealed(what: string): void {
    if (this.#sealed === null) return
    throw new WeirError(
      'WEIR_UNSUPPORTED',
      `${what} cannot be sealed, and this host has an identity: open a host without one for it`,
    )
  }

  /** Takes the work that was posted since the last round of the loop. */
  takeWork(now: Nanos): void {
    if (this.#owner.seesBell) this.#doorbell.awake()
    else this.#doorbell.sleep()
    this.#now = now
    this.#doorbell.take(this.#takeOf)
  }

  async answer(kind: string, body: never, context: CallContext): Promise<unknown> {
    const answer = this.#answers[kind as keyof VerbsCalls] as (body: unknown, context: CallContext) => unknown
    try {
      return await answer(body, context)
    } finally {
      this.#opened.loop.wake()
    }
  }

  /** The application rang while the loop slept. */
  onEvent(): void {
    this.#opened.loop.wake()
  }

  async close(): Promise<void> {
    const { loop } = this.#opened
    if (this.#handshakes !== null) clearInterval(this.#handshakes)
    for (const port of this.#listeners.keys()) this.#unlisten(port)
    for (const { connection } of this.#byId.values()) connection?.disconnect(loop.now())
    for (const queue of this.#sharedReceiveQueues.values()) queue.close()
    for (const { connection } of [...this.#paced.values()]) connection?.disconnect(loop.now())
    loop.wake()
    for (let ms = 0; this.#byId.size > 0 && ms < GRACE_MS; ms += LOOK_EVERY_MS) await sleep(LOOK_EVERY_MS)
    await this.#owner.close()
  }

  // ---- HostedEvents

  created(hosted: HostedConnection): void {
    hosted.bell = this.#freeBell()
    this.#byBell[hosted.bell] = hosted
    this.#byId.set(hosted.id, hosted)
  }

  established(now: Nanos, hosted: HostedConnection): void {
    const waiting = this.#connecting.get(hosted.id)
    if (waiting !== undefined) {
      this.#connecting.delete(hosted.id)
      waiting.resolve(hosted.about)
      return
    }
    for (const [port, listener] of this.#listeners) {
      if (!listener.isOpening(hosted.id)) continue
      if (!listener.onConfirmed(now, hosted.id, hosted.connection!)) return
      hosted.open(Queues.make(this.#opened.nic.settings.queueDepth))
      const sharesReceives = hosted.receiveSource !== null
      const { about, queues } = hosted
      this.#tell({ type: 'incoming', port, connection: about, queues: queues.shared, sharesReceives })
      return
    }
    // The listener was closed.
    hosted.connection!.disconnect(now)
  }

  completions({ id }: { id: number }): void {
    this.#tell({ type: 'completions', id })
  }

  closed({ id, bell, wasEstablished }: HostedConnection, error: WeirError | null): void {
    if (this.#byId.delete(id)) this.#byBell[bell] = null
    const waiting = this.#connecting.get(id)
    if (waiting !== undefined) {
      this.#connecting.delete(id)
      waiting.reject(error ?? new WeirError('WEIR_CANCELLED', 'the connection was cancelled'))
      return
    }
    const isPair = this.#pairs.delete(id)
    if (wasEstablished || isPair)
      this.#tell({ type: 'closed', id, error: error === null ? null : recordOf(error) })
    else this.#accepted(id)
  }

  pacedClosed({ id, bell, connection }: HostedPaced): void {
    this.#opened.nic.sidr.forget(connection!.id)
    if (this.#paced.delete(id)) this.#byBell[bell] = null
    this.#tell({ type: 'closed', id, error: null })
  }

  // ---- Calls

  readonly #answers: Answers = {
    register: ({ bytes, access, domain }) => {
      const { key, address } = this.#opened.nic.memory.register(bytes, bytes.length, access, domain)
      return { key, address }
    },
    deregister: ({ key }) => {
      const region = this.#opened.nic.memory.find(key)
      if (region !== null) this.#opened.nic.memory.deregister(region)
    },
    listen: ({ port, backlog, privateData, domain, sharedReceiveQueue }) => {
      const shared = this.#sharedReceiveQueueOf(sharedReceiveQueue)
      if (shared !== null) this.#refuseIfSealed('a connection with a shared receive queue')
      const listener = new HostedListener(
        backlog,
        () => this.#makeIncoming(privateData, domain, shared),
        shared,
      )
      this.#verbs.listen(port, listener)
      this.#listeners.set(port, listener)
    },
    unlisten: ({ port }) => this.#unlisten(port),
    connect: (body, context) => this.#connect(body, context),
    createQueuePair: body => this.#createQueuePair(body),
    connectQueuePair: body => this.#connectQueuePair(body),
    createDatagramPair: body => this.#createDatagramPair(body),
    createUnreliable: body => this.#createUnreliable(body),
    connectUnreliable: ({ id, qpn }) => this.#connectUnreliable(id, qpn),
    createSharedReceiveQueue: ({ id, ring, domain }) => {
      if (this.#sharedReceiveQueues.size >= SHARED_RECEIVE_QUEUES_MAX)
        throw new WeirError(
          'WEIR_FULL',
          `all ${SHARED_RECEIVE_QUEUES_MAX} shared receive queues of this host are in use`,
        )
      this.#sharedReceiveQueues.set(
        id,
        new HostedSharedReceiveQueue(new WorkRing(ring), domain, this.#regionOf),
      )
    },
    awaitLimit: ({ id, limit }) => this.#sharedReceiveQueueOf(id)?.awaitLimit(limit),
    closeSharedReceiveQueue: ({ id }) => this.#closeSharedReceiveQueue(id),
    closePaced: ({ id }) => this.#paced.get(id)?.connection?.disconnect(this.#opened.loop.now()),
    createAddress: ({ remote, options }) =>
      this.#opened.nic.createAddress(HostAddress.parse(remote), options).id,
    destroyAddress: ({ id }) => this.#opened.nic.destroyAddress(id),
    serveDatagrams: ({ port, id, privateData }) => {
      const pair = this.#paced.get(id)?.connection
      if (!(pair instanceof DatagramPair))
        throw new WeirError('WEIR_BAD_STATE', 'the datagram queue pair is closed')
      const { qpn, qkey } = pair.qp
      this.#opened.nic.sidr.serve(port, { qpn, qkey, privateData })
    },
    unserveDatagrams: ({ port }) => this.#opened.nic.sidr.unserve(port),
    resolveDatagrams: body => this.#resolveDatagrams(body),
    accept: ({ id }) => this.#accepted(id),
    disconnect: ({ id }) => {
      this.#byId.get(id)?.connection?.disconnect(this.#opened.loop.now())
    },
    stats: ({ id }) => {
      const connection = this.#byId.get(id)?.connection
      if (!connection) throw new WeirError('WEIR_BAD_STATE', 'the connection is closed')
      return { ...connection.stats }
    },
    unreliableStats: ({ id }): UnreliableStats => {
      const pair = this.#paced.get(id)?.connection
      if (!(pair instanceof UnreliablePair))
        throw new WeirError('WEIR_BAD_STATE', 'the unreliable connection is closed')
      const { receivedPackets, otherService } = pair.qp
      return { receivedPackets, otherService }
    },
  }

  #sharedReceiveQueueOf(id: number | null): HostedSharedReceiveQueue | null {
    if (id === null) return null
    const queue = this.#sharedReceiveQueues.get(id)
    if (queue === undefined) throw new WeirError('WEIR_BAD_STATE', 'the shared receive queue is closed')
    return queue
  }

  #closeSharedReceiveQueue(id: number): void {
    const queue = this.#sharedReceiveQueueOf(id)
    const hosted = [...this.#byId.values(), ...this.#paced.values()]
    const isListening = [...this.#listeners.values()].some(each => each.sharedReceiveQueue === queue)
    if (isListening || hosted.some(each => each.receiveSource?.queue === queue))
      throw new WeirError(
        'WEIR_BAD_STATE',
        'the shared receive queue is in use: close its queue pairs and listeners first',
      )
    queue?.close()
    this.#sharedReceiveQueues.delete(id)
  }

  async #connect(
    { id, remote, port, options, queues, domain, sharedReceiveQueue }: VerbsCalls['connect'],
    { signal }: CallContext,
  ): Promise<unknown> {
    const { loop } = this.#opened
    const address = HostAddress.parse(remote)
    if (sharedReceiveQueue !== null) this.#refuseIfSealed('a connection with a shared receive queue')
    this.#freeBell()
    const hosted = new HostedConnection(
      id,
      this.#regionOf,
      this,
      domain,
      this.#sharedReceiveQueueOf(sharedReceiveQueue),
    )
    hosted.open(new Queues(queues))
    const cancel = () => {
      hosted.connection?.disconnect(loop.now())
      loop.wake()
    }
    try {
      return await new Promise((resolve, reject) => {
        this.#connecting.set(id, { resolve, reject })
        this.#verbs.connect(loop.now(), address, port, hosted, options)
        loop.wake()
        if (signal.aborted) cancel()
        else signal.addEventListener('abort', cancel, { once: true })
      })
    } finally {
      this.#connecting.delete(id)
      signal.removeEventListener('abort', cancel)
    }
  }

  #createQueuePair({
    id,
    remote,
    options,
    queues,
    domain,
    sharedReceiveQueue,
  }: VerbsCalls['createQueuePair']): unknown {
    this.#refuseIfSealed('a queue pair without the connection manager')
    const { nic, loop } = this.#opened
    this.#freeBell()
    const hosted = new HostedConnection(
      id,
      this.#regionOf,
      this,
      domain,
      this.#sharedReceiveQueueOf(sharedReceiveQueue),
    )
    hosted.open(new Queues(queues))
    const made = nic.createQueuePair(loop.now(), HostAddress.parse(remote), hosted, options)
    this.#pairs.add(id)
    return made
  }

  async #connectQueuePair({ id, peer }: VerbsCalls['connectQueuePair']): Promise<unknown> {
    const { nic, loop } = this.#opened
    const qpn = this.#byId.get(id)?.connection?.id ?? 0
    try {
      return await new Promise((resolve, reject) => {
        this.#connecting.set(id, { resolve, reject })
        nic.connectQueuePair(loop.now(), qpn, peer)
        loop.wake()
      })
    } finally {
      this.#connecting.delete(id)
    }
  }

  #createDatagramPair({ options, ...body }: VerbsCalls['createDatagramPair']): MadeDatagramPair {
    this.#refuseIfSealed('a datagram queue pair')
    const { nic, loop } = this.#opened
    const hosted = this.#makePaced(body)
    const pair = nic.createDatagramPair(loop.now(), hosted, options)
    this.#show(hosted, pair)
    const { qpn, qkey, pathMtu } = pair.qp
    return { bell: hosted.bell, qpn, qkey, pathMtu }
  }

  #createUnreliable({ remote, options, ...body }: VerbsCalls['createUnreliable']): MadeUnreliable {
    this.#refuseIfSealed('an unreliable connection')
    const { nic, loop } = this.#opened
    const hosted = this.#makePaced(body)
    const pair = nic.createUnreliablePair(loop.now(), HostAddress.parse(remote), hosted, options)
    this.#show(hosted, pair)
    const { qpn, psn, pathMtu } = pair.qp
    return { bell: hosted.bell, qpn, psn, pathMtu, remote: pair.to.remote.toString() }
  }

  #connectUnreliable(id: number, qpn: number): void {
    const hosted = this.#paced.get(id)
    if (!(hosted?.connection instanceof UnreliablePair))
      throw new WeirError('WEIR_BAD_STATE', 'the queue pair is closed')
    hosted.connection.connect(qpn)
    // Sends may have been posted before.
    hosted.take(this.#opened.loop.now())
  }

  #makePaced({
    id,
    queues,
    domain,
    sharedReceiveQueue,
  }: Omit<VerbsCalls['createDatagramPair'], 'options'>): HostedPaced {
    const hosted = new HostedPaced(
      id,
      this.#regionOf,
      this,
      domain,
      this.#sharedReceiveQueueOf(sharedReceiveQueue),
    )
    hosted.open(new Queues(queues))
    hosted.bell = this.#freeBell()
    return hosted
  }

  /** It takes work from now on. */
  #show(hosted: HostedPaced, pair: PacedPair): void {
    hosted.connection = pair
    this.#byBell[hosted.bell] = hosted
    this.#paced.set(hosted.id, hosted)
    hosted.take(this.#opened.loop.now())
  }

  #resolveDatagrams({ remote, port, options }: VerbsCalls['resolveDatagrams']): Promise<unknown> {
    const { nic, loop } = this.#opened
    return new Promise((resolve, reject) => {
      const done = (answer: DatagramService | WeirError) =>
        answer instanceof WeirError ? reject(answer) : resolve(answer)
      nic.sidr.ask(loop.now(), { remote: HostAddress.parse(remote), port, done, ...options })
      loop.wake()
    })
  }

  #unlisten(port: number): void {
    const listener = this.#listeners.get(port)
    if (listener === undefined) return
    this.#verbs.unlisten(port)
    this.#listeners.delete(port)
    // Nobody will accept these connections any more.
    for (const id of listener.ids) this.#byId.get(id)?.connection?.disconnect(this.#opened.loop.now())
  }

  /** The application has taken the connection, or never will. */
  #accepted(id: number): void {
    for (const listener of this.#listeners.values()) listener.forget(id)
  }

  #makeIncoming(
    privateData: Uint8Array,
    listening: DomainId | 'own',
    sharedReceiveQueue: HostedSharedReceiveQueue | null,
  ): HostedConnection {
    const id = --this.#lastIncoming
    // Ids of the application's own domains are positive, so these are negative.
    const domain = listening === 'own' ? id : listening
    return new HostedConnection(id, this.#regionOf, this, domain, sharedReceiveQueue, privateData)
  }

  readonly #regionOf = (key: number): MemoryRegion => this.#opened.nic.memory.find(key) ?? GONE

  /** Throws WEIR_FULL. */
  #freeBell(): number {
    const bell = this.#byBell.indexOf(null)
    if (bell >= 0) return bell
    throw new WeirError('WEIR_FULL', `all ${BELLS_MAX} connections of this host are in use`)
  }

  #tell(event: FromVerbs): void {
    this.#events.tell(event)
  }
}
