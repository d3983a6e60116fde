import type { Frame } from '../../frame/frame.js'
import type { DatagramQueuePair } from '../../qp/datagram/datagram-queue-pair.js'
import type { CompletionQueue } from '../../qp/queues/completion-queue.js'
import { NO_ADDRESS, type PacedHandler, PacedPair, type PairOwner } from './paced-pair.js'

export interface DatagramOptions {
  /** What datagrams for it have to know, 31 bits. */
  qkey: number
  /** Most bytes of a datagram, at most the NIC's path MTU, which is the default. */
  pathMtu?: number
}

/** A datagram queue pair of a NIC. It can send from the beginning. */
export class DatagramPair extends PacedPair {
  override readonly qp: DatagramQueuePair

  constructor(qp: DatagramQueuePair, completions: CompletionQueue, handler: PacedHandler, owner: PairOwner) {
    super(completions, handler, owner)
    this.qp = qp
  }

  override get established(): boolean {
    return true
  }

  override get nextAddress(): number {
    return this.qp.next?.address ?? NO_ADDRESS
  }

  override onPacket(frame: Frame): void {
    this.qp.onPacket(frame)
  }
}
