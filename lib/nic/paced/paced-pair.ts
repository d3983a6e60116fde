import type { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Completion, CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { ReceiveSource } from '../../qp/queues/receive-queue.js'
import type { ReceiveWork, SendWork } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'

/** The application's end of a queue pair that nobody acknowledges. */
export interface PacedHandler {
  /** As of ConnectionHandler. */
  readonly domain?: DomainId
  /** As of ConnectionHandler. */
  readonly receiveSource?: ReceiveSource | null
  onCreated?(now: Nanos, pair: PacedPair): void
  /** A work request completed. `completion` is reused: keep nothing of it. */
  onCompletion(now: Nanos, pair: PacedPair, completion: Completion): void
  /** After the last completion, once. */
  onClosed(now: Nanos, pair: PacedPair, error: WeirError | null): void
}

/** What a pair needs of those that take turns. */
export interface PairOwner {
  onPosted(pair: PacedPair): void
  onClosed(now: Nanos, pair: PacedPair): void
}

/** A queue pair of lib/qp whose packets nobody acknowledges. */
interface PacedQueuePair {
  readonly qpn: number
  postSend(work: SendWork): boolean
  postReceive(work: ReceiveWork): boolean
  transmit(frame: Frame, at: number): boolean
  failNext(): void
  close(): void
}

/** There is nothing to send. */
export const NO_ADDRESS = 0

/** A queue pair of a NIC that takes turns with others of its kind, and has no connection's flow. */
export abstract class PacedPair {
  abstract readonly qp: PacedQueuePair
  readonly completions: CompletionQueue
  readonly handler: PacedHandler
  /** It is among those that have something to send. */
  isReady = false
  readonly #owner: PairOwner
  #isClosed = false

  constructor(completions: CompletionQueue, handler: PacedHandler, owner: PairOwner) {
    this.completions = completions
    this.handler = handler
    this.#owner = owner
  }

  /** It takes sends. */
  abstract get established(): boolean

  /** Number of the address handle that the next packet goes to, or NO_ADDRESS. */
  abstract get nextAddress(): number

  /** A parsed packet for its number, with the right ICRC. */
  abstract onPacket(frame: Frame): void

  /** The QPN. */
  get id(): number {
    return this.qp.qpn
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** As of its queue pair. */
  postSend(_now: Nanos, work: SendWork): boolean {
    const posted = this.qp.postSend(work)
    if (posted) this.#owner.onPosted(this)
    return posted
  }

  /** As of its queue pair. */
  postReceive(work: ReceiveWork): boolean {
    return this.qp.postReceive(work)
  }

  /** Ends it at once: work that has not completed is flushed. Has no effect the second time. */
  disconnect(now: Nanos): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.qp.close()
    this.#owner.onClosed(now, this)
  }
}
