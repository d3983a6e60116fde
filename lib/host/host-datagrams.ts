import { checkedDatagram } from '../qp/datagram/datagram-send-queue.js'
import type { SendWork } from '../qp/queues/work.js'
import { HostEnd } from './host-end.js'
import type { MadeDatagramPair } from './messages.js'

/** A host that datagrams go to: `id` is the `to.address` of their work requests. */
export interface HostAddressHandle {
  readonly id: number
  readonly remote: string
}

/**
 * An application's end of a datagram queue pair (UD). It has no connection: each SEND names an address handle, a QPN and a Q_Key, and is
 * one packet. Nobody acknowledges it: it may be lost, come twice or out of order. `Host.createDatagramPair` makes it.
 *
 * The first 40 bytes of a receive are for the GRH, so a receive is at least as long, and `byteLength` of its completion is 40 more than the
 * payload has. `datagramSource` reads the sender's address from them.
 */
export class HostDatagrams extends HostEnd {
  #about: MadeDatagramPair | null = null

  /** What datagrams for it have to know. */
  get qkey(): number {
    return this.#about!.qkey
  }

  /** Most bytes of a datagram. */
  get pathMtu(): number {
    return this.#about!.pathMtu
  }

  /**
   * Posts a SEND or SEND_WITH_IMM to `work.to`. It completes when it leaves. Returns false when the queue is full or the queue pair has
   * ended. Throws WEIR_BAD_ARGUMENT for invalid work, and for more bytes than `pathMtu`.
   */
  postSend(work: SendWork): boolean {
    this.checkPieces('datagram', work)
    checkedDatagram(this.qpn, work, this.pathMtu)
    return this.pushSend(work)
  }

  /** Ends it. Work that has not completed completes with WR_FLUSH_ERR. */
  async close(): Promise<void> {
    if (!this.isClosed) await this.host.call('closePaced', { id: this.id })
    await this.closed
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Its host calls this. */
  onMade(about: MadeDatagramPair): void {
    this.#about = about
    this.onReady(about)
  }
}
