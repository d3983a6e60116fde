import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { DropReason } from '../queueing/counters.js'
import { answerArp } from './arp.js'
import type { HostTable } from './host-table.js'
import { TimeExceeded } from './icmp-errors.js'
import { answerSolicitation } from './neighbour-discovery.js'

/**
 * The answers of a switch, with which hosts with ordinary IP stacks can talk across it. Every host assumes
 * that all others are on its link. So the switch answers for them (proxy ARP, RFC 1027; its counterpart of
 * RFC 4861, section 7.2.8), with their own MAC addresses. For traceroute it reports packets whose TTL has
 * expired.
 */
export class IpAnswers {
  readonly #hosts: HostTable
  readonly #timeExceeded: TimeExceeded

  /** @param switchId 1 to 65519; reports come from 10.255.x.y, whose last two bytes are this number */
  constructor(hosts: HostTable, switchId: number) {
    this.#hosts = hosts
    this.#timeExceeded = new TimeExceeded((0x0aff_0000 | switchId) >>> 0)
  }

  /**
   * Turns a frame that cannot be forwarded, for that reason, into the answer to it, which leaves by the port
   * where the frame came in. Returns false when none is due, and leaves the frame unchanged.
   */
  answer(now: Nanos, frame: Frame, reason: DropReason): boolean {
    // Frames without their bytes, as in virtual time, do not come from hosts with IP stacks.
    if (!frame.materialised) return false
    switch (reason) {
      case DropReason.NOT_IP:
        return answerArp(frame, this.#hosts)
      case DropReason.NO_ROUTE:
        return answerSolicitation(frame, this.#hosts)
      case DropReason.TTL_EXPIRED:
        return this.#timeExceeded.report(now, frame)
      default:
        return false
    }
  }
}
