import type { InspectOptions, inspect } from 'node:util'
import { checkObject, knownOptions, optionNames } from '../arguments.js'
import { WeirError } from '../errors.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { checkedReceive } from '../qp/queues/receive-queue.js'
import type { ReceiveWork, SendWork } from '../qp/queues/work.js'
import { INSPECT, shown } from '../shown.js'
import { checkPieces } from './check-pieces.js'
import { pollFlushed } from './hosted-work.js'
import type { VerbsCalls } from './messages.js'
import type { Queues, SharedQueues } from './queues.js'

/** What a queue pair needs from its host. */
export interface HostOfEnd {
  call<K extends keyof VerbsCalls>(kind: K, body: VerbsCalls[K]): Promise<unknown>
  /** Tells the NIC that the queue pair of that number has work. */
  ring(bell: number): void
  regionOf(key: number): MemoryRegion | undefined
}

/** How to wait for a completion. */
interface WaitOptions {
  /** Sleeps until the peer solicits an event, or work fails. Completions that are there already are taken all the same. Default false. */
  solicited?: boolean
}

const NONE: WaitOptions = Object.freeze({})
const WAIT_NAMES = optionNames<WaitOptions>({ solicited: true })

/** An application's end of a queue pair and its completion queue. */
export class HostEnd {
  /** Unique within its host. */
  readonly id: number
  /** Resolves when the queue pair has ended: with null after an orderly end, else with the reason. */
  readonly closed: Promise<Error | null>
  /** Protection domain. Work, and peers, reach only memory that was registered with it. */
  readonly domain: DomainId
  /** @internal */
  readonly host: HostOfEnd
  readonly #queues: Queues
  readonly #headBytes: number
  /** It has no receives of its own: its host sets this. */
  sharesReceives = false
  #qpn = 0
  #bell = -1
  #isClosed = false
  #resolveClosed: (error: Error | null) => void = () => {}
  #wakers: (() => void)[] = []

  /** @param headBytes of a receive that come before the payload */
  constructor(id: number, queues: Queues, host: HostOfEnd, domain: DomainId, headBytes = 0) {
    this.#headBytes = headBytes
    this.id = id
    this.domain = domain
    this.#queues = queues
    this.host = host
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  /** Its host hands these to the NIC. */
  get shared(): SharedQueues {
    return this.#queues.shared
  }

  /** Its number, once it is known. */
  get qpn(): number {
    return this.#qpn
  }

  get isClosed(): boolean {
    return this.#isClosed
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
   * queue pair has ended and all completions have been taken.
   */
  async next(into: Completion, options: WaitOptions = NONE): Promise<boolean> {
    checkObject('next', 'into', into)
    // This is the way of every completion, and mostly without options.
    const { solicited = false } = options === NONE ? NONE : knownOptions('next', WAIT_NAMES, options)
    for (;;) {
      if (this.poll(into)) return true
      if (this.#isClosed) return false
      const told = new Promise<void>(resolve => this.#wakers.push(resolve))
      if (solicited) this.#queues.wantSolicited()
      else this.#queues.want()
      // The NIC does not announce completions that came before the application asked to be woken.
      if (this.#queues.completions.ring.pending > 0) this.onCompletions()
      await told
    }
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    return { id: this.id, qpn: this.#qpn, domain: this.domain, isClosed: this.#isClosed }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }

  /** For its queue pair: checked work. */
  pushSend(work: SendWork): boolean {
    return this.#posted(!this.#isClosed && this.#queues.sends.pushSend(work))
  }

  /**
   * Posts a receive: memory for the next SEND, or for the notification of the next WRITE with immediate. Returns false when the queue is
   * full (poll completions, then try again) or the queue pair has ended. Throws WEIR_BAD_ARGUMENT for memory outside its region, and
   * for a region of another host or protection domain. Throws WEIR_BAD_STATE if the queue pair has a shared receive queue.
   */
  postReceive(work: ReceiveWork): boolean {
    if (this.sharesReceives)
      throw new WeirError(
        'WEIR_BAD_STATE',
        `queue pair ${this.#qpn}: post its receives to its shared receive queue`,
      )
    this.checkPieces('receive work', work)
    checkedReceive(this.#qpn, work, this.#headBytes)
    return this.#posted(!this.#isClosed && this.#queues.receives.pushReceive(work))
  }

  /** Throws WEIR_BAD_ARGUMENT for what is no work, and for memory of another host or protection domain. */
  checkPieces(what: string, work: SendWork | ReceiveWork): void {
    const { domain } = this
    checkPieces({ who: `queue pair ${this.#qpn}`, domain, regionOf: this.host.regionOf }, what, work)
  }

  /** Its host calls this: the NIC takes its work. */
  onReady({ qpn, bell }: { qpn: number; bell: number }): void {
    this.#qpn = qpn
    this.#bell = bell
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

  #posted(isPosted: boolean): boolean {
    if (isPosted) this.#ring()
    return isPosted
  }

  #ring(): void {
    if (this.#bell >= 0) this.host.ring(this.#bell)
  }

  #hasUntaken(): boolean {
    return this.#queues.sends.ring.pending > 0 || this.#queues.receives.ring.pending > 0
  }

  #onInvalidated(key: number): void {
    const region = this.host.regionOf(key)
    if (region !== undefined) region.valid = false
  }
}
