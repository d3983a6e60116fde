import { WeirError } from '../errors.js'
import type { ConnectionStats } from '../nic/types.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { checkReceiveWork } from '../qp/queues/receive-queue.js'
import { checkSendWork } from '../qp/queues/send-queue.js'
import type { ReceiveWork, SendWork } from '../qp/queues/work.js'
import { pollFlushed } from './hosted-connection.js'
import type { EstablishedConnection, VerbsCalls } from './messages.js'
import type { Queues, SharedQueues } from './queues.js'

/** What a connection needs from its host. */
export interface HostOfConnection {
  call<K extends keyof VerbsCalls>(kind: K, body: VerbsCalls[K]): Promise<unknown>
  /** Tells the NIC that the connection of that number has work. */
  ring(bell: number): void
  regionOf(key: number): MemoryRegion | undefined
}

/** An application's end of a connection: a reliable connected queue pair and its completion queue. */
export class HostConnection {
  /** Unique within its host. */
  readonly id: number
  /**
   * Resolves when the connection has ended: with null after an orderly disconnect by either side, else with
   * the reason.
   */
  readonly closed: Promise<Error | null>
  readonly #queues: Queues
  readonly #host: HostOfConnection
  readonly #domain: DomainId
  #about: EstablishedConnection | null = null
  #isClosed = false
  #resolveClosed: (error: Error | null) => void = () => {}
  #wakers: (() => void)[] = []

  /** `Host.connect` and `HostListener.accept` call this. */
  constructor(id: number, queues: Queues, host: HostOfConnection, domain: DomainId) {
    this.id = id
    this.#domain = domain
    this.#queues = queues
    this.#host = host
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  /** Its host hands these to the NIC. */
  get shared(): SharedQueues {
    return this.#queues.shared
  }

  /** Address of the other end. */
  get remote(): string {
    return this.#about!.remote
  }

  /** Payload bytes of a packet. */
  get pathMtu(): number {
    return this.#about!.pathMtu
  }

  /**
   * Protection domain. Work of this connection and its peer reach only memory that was registered with it.
   */
  get domain(): DomainId {
    return this.#domain
  }

  /**
   * The private data that the peer sent at connect. Of a peer that is no Weir host: 56 bytes, or 196 of its answer, with zeros behind.
   */
  get peerPrivateData(): Uint8Array {
    return this.#about!.peerPrivateData
  }

  /**
   * Posts a work request: the operations of `WorkOpcode`, on memory that this host has registered. Returns
   * false when the queue is full (poll completions, then try again) or the connection has ended. Throws
   * WEIR_BAD_ARGUMENT for invalid work, for work outside its region, and for a region of another host or
   * protection domain.
   */
  postSend(work: SendWork): boolean {
    this.#checkRegion(work)
    checkSendWork(this.#qpn, work)
    return this.#posted(!this.#isClosed && this.#queues.sends.pushSend(work))
  }

  /**
   * Posts a receive: memory for the next SEND, or for the notification of the next WRITE with immediate.
   * Returns and throws as `postSend` does.
   */
  postReceive(work: ReceiveWork): boolean {
    this.#checkRegion(work)
    checkReceiveWork(this.#qpn, work)
    return this.#posted(!this.#isClosed && this.#queues.receives.pushReceive(work))
  }

  /**
   * Takes the oldest completion into `into`, which may be the same object each time. Returns false if there
   * is none now.
   */
  poll(into: Completion): boolean {
    const polled =
      this.#queues.completions.poll(into) || (this.#isClosed && pollFlushed(this.#queues, this.#qpn, into))
    if (!polled) return false
    if (into.invalidatedKey !== 0) this.#onInvalidated(into.invalidatedKey)
    // Work may have waited for the place of this completion.
    if (this.#hasUntaken() && !this.#isClosed) this.#ring()
    return true
  }

  /**
   * Takes the oldest completion. If there is none, it sleeps until one comes. Returns false once the
   * connection has ended and all completions have been taken.
   */
  async next(into: Completion): Promise<boolean> {
    for (;;) {
      if (this.poll(into)) return true
      if (this.#isClosed) return false
      const told = new Promise<void>(resolve => this.#wakers.push(resolve))
      this.#queues.want()
      // The NIC does not announce completions that came before the application asked to be woken.
      if (this.#queues.completions.ring.pending > 0) this.onCompletions()
      await told
    }
  }

  /**
   * Ends the connection in order. Work that has not completed completes with WR_FLUSH_ERR. Resolves when the
   * connection has ended.
   */
  async disconnect(): Promise<void> {
    if (!this.#isClosed) await this.#host.call('disconnect', { id: this.id })
    await this.closed
  }

  /**
   * Current figures: rate, window, round-trip time, retransmissions. Throws WEIR_BAD_STATE when the
   * connection has ended.
   */
  async stats(): Promise<ConnectionStats> {
    if (this.#isClosed) throw new WeirError('WEIR_BAD_STATE', 'the connection is closed')
    return (await this.#host.call('stats', { id: this.id })) as ConnectionStats
  }

  /** Its host calls this. */
  onEstablished(about: EstablishedConnection): void {
    this.#about = about
    if (this.#hasUntaken()) this.#ring()
  }

  /** Its host calls this. */
  onCompletions(): void {
    const wakers = this.#wakers
    this.#wakers = []
    for (const wake of wakers) wake()
  }

  /** Its host calls this last. */
  onClosed(error: Error | null): void {
    this.#isClosed = true
    this.#resolveClosed(error)
    this.onCompletions()
  }

  get #qpn(): number {
    return this.#about?.qpn ?? 0
  }

  #checkRegion({ region }: SendWork | ReceiveWork): void {
    const isKnown = region !== undefined && this.#host.regionOf(region.key) === region
    if (isKnown && region.domain === this.#domain) return
    const what = isKnown
      ? `the region is of protection domain ${region.domain}, the connection of ${this.#domain}; register the memory with connection.domain`
      : 'the region is none of this host; register the memory first'
    throw new WeirError('WEIR_BAD_ARGUMENT', `queue pair ${this.#qpn}: ${what}`)
  }

  #posted(isPosted: boolean): boolean {
    if (isPosted) this.#ring()
    return isPosted
  }

  #ring(): void {
    if (this.#about !== null) this.#host.ring(this.#about.bell)
  }

  #hasUntaken(): boolean {
    return this.#queues.sends.ring.pending > 0 || this.#queues.receives.ring.pending > 0
  }

  #onInvalidated(key: number): void {
    const region = this.#host.regionOf(key)
    if (region !== undefined) region.valid = false
  }
}
