import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { UnreliableQueuePair } from '../../qp/unreliable/unreliable-queue-pair.js'
import { QPN_FIRST } from '../../wire/ib/deth.js'
import { comesFrom } from '../../wire/net/comes-from.js'
import type { AddressHandle, AddressOptions } from './address-handle.js'
import { NO_ADDRESS, type PacedHandler, PacedPair, type PairOwner } from './paced-pair.js'

export interface UnreliableOptions extends AddressOptions {
  /** Payload bytes of a full packet, the same at both ends, at most what packets take without telemetry. Default: the NIC's path MTU. */
  pathMtu?: number
}

/** An unreliable connected queue pair of a NIC. It sends once it is connected. */
export class UnreliablePair extends PacedPair {
  override readonly qp: UnreliableQueuePair
  /** The other end's host. */
  readonly to: AddressHandle

  constructor(
    qp: UnreliableQueuePair,
    to: AddressHandle,
    completions: CompletionQueue,
    handler: PacedHandler,
    owner: PairOwner,
  ) {
    super(completions, handler, owner)
    this.qp = qp
    this.to = to
  }

  override get established(): boolean {
    return this.qp.isConnected
  }

  override get nextAddress(): number {
    return this.qp.hasNext ? this.to.id : NO_ADDRESS
  }

  /** The other end has that number. Throws WEIR_BAD_STATE the second time, and WEIR_BAD_ARGUMENT. */
  connect(qpn: number): void {
    if (!Number.isInteger(qpn) || qpn < QPN_FIRST || qpn > 0xffffff)
      throw new WeirError('WEIR_BAD_ARGUMENT', `queue pair ${this.id}: qpn is 2 to 16777215, not ${qpn}`)
    if (this.qp.isConnected || this.isClosed)
      throw new WeirError('WEIR_BAD_STATE', `queue pair ${this.id}: it has been connected, or is closed`)
    this.qp.connect(qpn)
  }

  override onPacket(frame: Frame): void {
    if (comesFrom(frame, this.to.remote)) this.qp.onPacket(frame)
    else this.qp.counters.droppedOpcode++
  }
}
