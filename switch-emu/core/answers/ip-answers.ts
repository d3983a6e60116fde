import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { DropReason } from '../queueing/counters.js'
import { answerArp } from './arp.js'
import type { HostTable } from './host-table.js'
import { TimeExceeded } from './icmp-errors.js'
import { answerSolicitation } from './neighbour-discovery.js'

/**
 * What a switch says itself, so that hosts with ordinary IP stacks can talk across it: every host has every
 * other one on its link, so the switch answers for them when they are looked for (proxy ARP, RFC 1027; its
 * counterpart of RFC 4861, section 7.2.8), with their own MAC addresses; and it reports packets whose TTL has
 * run out, for traceroute.
 */
export class IpAnswers {
  readonly #hosts: HostTable
  readonly #timeExceeded: TimeExceeded

  /** @param switchId 1 to 65519: reports come from 10.255.x.y, whose last two bytes are this number */
  constructor(hosts: HostTable, switchId: number) {
    this.#hosts = hosts
    this.#timeExceeded = new TimeExceeded((0x0aff_0000 | switchId) >>> 0)
  }

  /**
   * Makes a frame that cannot be forwarded, for that reason, the answer to itself, to leave by the port where
   * it came in. False when none is due: the frame is as it was.
   */
  answer(now: Nanos, frame: Frame, reason: DropReason): boolean {
    // Without their bytes, as in virtual time, frames are not of hosts with IP stacks.
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
