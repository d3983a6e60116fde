import { WeirError } from '../errors.js'
import type { SendWork } from '../qp/queues/work.js'
import { checkedUnreliable } from '../qp/unreliable/unreliable-queue-pair.js'
import { HostEnd } from './host-end.js'
import type { MadeUnreliable, UnreliableStats } from './messages.js'

/**
 * An application's end of an unreliable connection (UC). It sends messages of any length to one queue pair. Nobody acknowledges them: a
 * message of which a packet is lost does not arrive, and neither end learns of it. `Host.createQueuePair` makes it.
 */
export class HostUnreliable extends HostEnd {
  #about: MadeUnreliable | null = null

  /** Address of the other end. */
  get remote(): string {
    return this.#about!.remote
  }

  /** Payload bytes of a packet. */
  get pathMtu(): number {
    return this.#about!.pathMtu
  }

  /**
   * Posts a SEND or an RDMA_WRITE, with immediate or without. It completes when its last packet leaves. Returns false when the queue is
   * full or the queue pair has ended. Throws WEIR_BAD_ARGUMENT for invalid work, and for what such a connection does not do.
   */
  postSend(work: SendWork): boolean {
    this.checkPieces('send work', work)
    checkedUnreliable(this.qpn, work)
    return this.pushSend(work)
  }

  /** What is known of it. Throws WEIR_BAD_STATE when it has ended. */
  async stats(): Promise<UnreliableStats> {
    if (this.isClosed) throw new WeirError('WEIR_BAD_STATE', 'the unreliable connection is closed')
    return (await this.host.call('unreliableStats', { id: this.id })) as UnreliableStats
  }

  /** Ends it. Work that has not completed completes with WR_FLUSH_ERR. Nobody tells the other end. */
  async disconnect(): Promise<void> {
    if (!this.isClosed) await this.host.call('closePaced', { id: this.id })
    await this.closed
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect()
  }

  /** Its host calls this. */
  onMade(about: MadeUnreliable): void {
    this.#about = about
    this.onReady(about)
  }
}
