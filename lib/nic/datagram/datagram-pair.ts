import type { WeirError } from '../../errors.js'
import type { DatagramQueuePair } from '../../qp/datagram/datagram-queue-pair.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Completion, CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { ReceiveWork, SendWork } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'

export interface DatagramOptions {
  /** What datagrams for it have to know, 31 bits. */
  qkey: number
  /** Most bytes of a datagram, at most the NIC's path MTU, which is the default. */
  pathMtu?: number
}

/** An application's end of a datagram queue pair. */
export interface DatagramHandler {
  /** As of ConnectionHandler. */
  readonly domain?: DomainId
  onCreated?(now: Nanos, pair: DatagramPair): void
  /** A work request completed. `completion` is reused: keep nothing of it. */
  onCompletion(now: Nanos, pair: DatagramPair, completion: Completion): void
  /** After the last completion, once. */
  onClosed(now: Nanos, pair: DatagramPair, error: WeirError | null): void
}

/** What a pair needs of the NIC's datagrams. */
interface Owner {
  onPosted(pair: DatagramPair): void
  onClosed(now: Nanos, pair: DatagramPair): void
}

/** A datagram queue pair of a NIC. It can send from the beginning. */
export class DatagramPair {
  readonly established = true
  readonly qp: DatagramQueuePair
  readonly completions: CompletionQueue
  readonly handler: DatagramHandler
  /** It is among those that have something to send. */
  isReady = false
  readonly #owner: Owner
  #isClosed = false

  constructor(qp: DatagramQueuePair, completions: CompletionQueue, handler: DatagramHandler, owner: Owner) {
    this.qp = qp
    this.completions = completions
    this.handler = handler
    this.#owner = owner
  }

  /** The QPN. */
  get id(): number {
    return this.qp.qpn
  }

  /** As of DatagramQueuePair. */
  postSend(_now: Nanos, work: SendWork): boolean {
    const posted = this.qp.postSend(work)
    if (posted) this.#owner.onPosted(this)
    return posted
  }

  /** As of DatagramQueuePair. */
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
