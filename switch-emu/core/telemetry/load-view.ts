import { WeirError } from '../../../lib/errors.js'
import type { HopSnapshot } from '../../../lib/wire/telemetry/hop-snapshot.js'
import type { EgressPort } from '../queueing/egress-port.js'

/** What a switch's telemetry says of an egress port whose queues have priorities. */
export interface LoadViewOptions {
  /**
   * The queue length: of all queues of the port (default), of the packet's own queue, or how long the packet itself has
   * been in the switch, as the bytes that the link sends in that time.
   */
  queue?: 'port' | 'own' | 'sojourn'
  /**
   * The rate: the link's (default), or for queues in deficit round robin the share that their weight guarantees, with the bytes
   * and the length of that queue alone.
   */
  rate?: 'link' | 'share'
  /**
   * Telemetry has only ratios, for paths across operators (draft-miao-rtgwg-hpccplus, security considerations): each link as if its
   * rate were RATIO_RATE_BPS, with bytes and queue scaled to it. Default false.
   */
  ratioOnly?: boolean
}

/** The rate that stands for every link's where telemetry has only ratios. Compact records can name it. */
const RATIO_RATE_BPS = 100e9

/**
 * Load as one priority sees it (draft-miao-rtgwg-hpccplus, discussion of QoS queueing): under priority scheduling a
 * queue's length does not give the time that it takes, the packet's sojourn time does; and deficit round robin guarantees
 * each queue a rate, which can stand for the link's.
 *
 * A sojourn time goes where the queue length goes, as qlen = sojourn x rate. So qlen / (B T) of the listing, line 5, is
 * sojourn / T, and senders need not know.
 */
export class LoadView {
  readonly #queue: 'port' | 'own' | 'sojourn'
  readonly #shares: boolean
  readonly ratioOnly: boolean

  /** Throws WEIR_BAD_ARGUMENT for a word that it does not know. */
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
   * Fills in rate, sent bytes and queue for a priority of a port. The snapshot's times are there already.
   * @param ownBytes of the packet itself, which has been counted as sent; 0 if it has not
   */
  fill(hop: HopSnapshot, port: EgressPort, priority: number, ownBytes: number): void {
    const shareBps = this.#shares ? port.shareBps(priority) : port.rateBps
    const shared = shareBps < port.rateBps
    hop.rateBps = shareBps
    hop.txBytes = (shared ? port.sentBytes(priority) : port.counters.txBytes) - ownBytes
    if (this.#queue === 'sojourn')
      hop.qlenBytes = Math.round(((hop.startNs - hop.arrivalNs) * shareBps) / 8e9)
    else hop.qlenBytes = this.queueBytes(port, priority)
  }

  /** Reduces a filled-in snapshot to what telemetry may say: the ratios of lines 4 and 5 stay, txBytes / B and qlen / B. */
  conceal(hop: HopSnapshot): void {
    if (!this.ratioOnly) return
    const scale = RATIO_RATE_BPS / hop.rateBps
    hop.rateBps = RATIO_RATE_BPS
    hop.txBytes = Math.floor(hop.txBytes * scale)
    hop.qlenBytes = Math.round(hop.qlenBytes * scale)
  }

  /** What counts as the queue of a priority. */
  queueBytes(port: EgressPort, priority: number): number {
    const whole = this.#queue === 'port' && !(this.#shares && port.shareBps(priority) < port.rateBps)
    return whole ? port.queueBytes : port.queues[priority]!.bytes
  }
}
