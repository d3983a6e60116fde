import { WeirError } from '../../../lib/errors.js'
import type { HopSnapshot } from '../../../lib/wire/telemetry/hop-snapshot.js'
import type { EgressPort } from '../queueing/egress-port.js'
import type { PortLoad } from './port-load.js'

/** What a switch's telemetry reports about an egress port whose queues have priorities. */
export interface LoadViewOptions {
  /**
   * The queue length: of all queues of the port (default), of the packet's own queue, or the time that the
   * packet has been in the switch, as the bytes that the link sends in that time.
   */
  queue?: 'port' | 'own' | 'sojourn'
  /**
   * The rate: the link's (default), or for queues in deficit round robin the share that their weight
   * guarantees. With the share, bytes and length are those of that queue alone.
   */
  rate?: 'link' | 'share'
  /**
   * True: telemetry has only ratios, for paths across operators (draft-miao-rtgwg-hpccplus, security
   * considerations). Each link is reported with RATIO_RATE_BPS as its rate, and with bytes and queue scaled
   * to it. Default false.
   */
  ratioOnly?: boolean
}

/** The reported rate of every link where telemetry has only ratios. Compact records can express it. */
const RATIO_RATE_BPS = 100e9

/**
 * Load as one priority sees it (draft-miao-rtgwg-hpccplus, discussion of QoS queueing). Under priority
 * scheduling a queue's length does not determine its delay, but the packet's sojourn time does. Deficit round
 * robin guarantees each queue a rate, which can replace the link's.
 *
 * A sojourn time is written into the field of the queue length, as qlen = sojourn x rate. So qlen / (B T) of
 * the listing, line 5, is sojourn / T, and senders need not know.
 */
export class LoadView {
  readonly #queue: 'port' | 'own' | 'sojourn'
  readonly #shares: boolean
  readonly ratioOnly: boolean

  /** Throws WEIR_BAD_ARGUMENT for an unknown value. */
  constructor({ queue = 'port', rate = 'link', ratioOnly = false }: LoadViewOptions = {}) {
    if (!['port', 'own', 'sojourn'].includes(queue) || !['link', 'share'].includes(rate)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `telemetry of a switch: queue is port, own or sojourn, rate link or share, not ${queue} and ${rate}`,
      )
    }
    this.#queue = queue
    this.#shares = rate === 'share'
    this.ratioOnly = ratioOnly
  }

  /**
   * Sets rate, sent bytes and queue for a priority of a port. The snapshot's times are already set.
   *
   * @param ownBytes of the packet itself if it counts as sent, else 0
   */
  fill(hop: HopSnapshot, port: EgressPort, priority: number, ownBytes: number): void {
    const { rateBps } = port
    const shareBps = this.#shares ? port.shareBps(priority) : rateBps
    const shared = shareBps < rateBps
    hop.rateBps = shareBps
    hop.txBytes = (shared ? port.sentBytes(priority) : port.counters.txBytes) - ownBytes
    if (this.#queue === 'sojourn')
      hop.qlenBytes = Math.round(((hop.startNs - hop.arrivalNs) * shareBps) / 8e9)
    else if (this.#queue === 'port' && !shared) hop.qlenBytes = port.queueBytes
    else hop.qlenBytes = port.queues[priority]!.bytes
  }

  /**
   * The same for a packet that does not leave by this port, and so tells nothing of the time that packets wait there: bytes stand for it.
   * The snapshot gets the time of the load.
   */
  fillFrom(hop: HopSnapshot, load: PortLoad, port: EgressPort, priority: number): void {
    const shareBps = this.#shares ? port.shareBps(priority) : port.rateBps
    const shared = shareBps < port.rateBps
    hop.startNs = load.atNs
    hop.rateBps = shareBps
    hop.txBytes = shared ? load.sentBytes[priority]! : load.txBytes
    hop.qlenBytes = this.#isWhole(port, priority) ? load.queueBytes : load.queuedBytes[priority]!
  }

  /** Reduces a snapshot to ratios: those of lines 4 and 5 remain, txBytes / B and qlen / B. */
  conceal(hop: HopSnapshot): void {
    if (!this.ratioOnly) return
    const scale = RATIO_RATE_BPS / hop.rateBps
    hop.rateBps = RATIO_RATE_BPS
    hop.txBytes = Math.floor(hop.txBytes * scale)
    hop.qlenBytes = Math.round(hop.qlenBytes * scale)
  }

  /** Returns the queue length that a priority reports. */
  queueBytes(port: EgressPort, priority: number): number {
    return this.#isWhole(port, priority) ? port.queueBytes : port.queues[priority]!.bytes
  }

  /** The queue that a priority reports is that of all. */
  #isWhole(port: EgressPort, priority: number): boolean {
    return this.#queue === 'port' && !(this.#shares && port.shareBps(priority) < port.rateBps)
  }
}
