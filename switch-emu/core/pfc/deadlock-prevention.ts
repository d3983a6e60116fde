/**
 * Prevention of PFC deadlocks: packets on high-risk paths change their priority, so that no queues wait for
 * each other in a circle.
 *
 * The operator puts ports that could pass pauses on in a circle into one **port group**: the two ring ports
 * of a switch in a ring, the uplinks of a leaf in a Clos network. A packet is **high-risk** if its ingress
 * and its egress port are in the same group (they may be the same port): traffic in a loop, or hook traffic
 * that comes down to a leaf and goes up again. If its priority is `from`, the switch rewrites its DSCP and
 * the PCP of its VLAN tag, and queues it with the priority `to`. Every switch after this one sees the new
 * values, whichever it uses.
 *
 * If `to` is lossless, the packet's memory stays accounted to `from`, because only a pause of that priority
 * stops the sender on its link. So queues of `from` may wait for queues of `to`, but never the other way
 * round, and the circle is open. If `to` is lossy, its memory is accounted to `to`, and it pauses nobody.
 *
 * It applies to IP packets only, because they have a DSCP. Source: white paper on lossless networks, "PFC
 * deadlock prevention".
 */
import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import type { FeatureReport, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { PORTS_MAX } from '../forwarding/forwarding.js'
import { setDscp } from '../forwarding/ip-header.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'

const PCPS = 8

/** Groups of one switch. A port's memberships are bits of a number. */
const PORT_GROUPS_MAX = 31

/** Port groups of one switch, and the new priority of high-risk packets. */
export interface DeadlockPreventionOptions {
  /** Port groups, each of one or more port numbers. A port may be in several. */
  groups: readonly (readonly number[])[]
  /** Priority of the packets that may move, 0 to 7. */
  from: number
  /** New priority of high-risk packets, 0 to 7, not `from`. */
  to: number
  /** Their new DSCP, 0 to 63. This switch and those after it must map it to `to`. */
  dscp: number
  /** New PCP of those with a VLAN tag, 0 to 7. Default: `to`. */
  pcp?: number
}

/** The port groups of one switch. */
export class DeadlockPrevention implements SwitchFeature {
  readonly #from: number
  readonly #to: number
  readonly #dscp: number
  readonly #pcp: number
  /** By port, bit g: member of group g. */
  readonly #groupsOf = new Int32Array(PORTS_MAX)
  /** By egress port, since the window began. */
  readonly #movedFrames = new Float64Array(PORTS_MAX)

  constructor(options: DeadlockPreventionOptions) {
    const { groups, from, to, dscp, pcp = to } = options
    const bad = (what: string) => new WeirError('WEIR_BAD_ARGUMENT', `deadlock prevention: ${what}`)
    for (const priority of [from, to]) {
      if (!isBelow(priority, PRIORITIES)) throw bad(`priorities are 0 to ${PRIORITIES - 1}, not ${priority}`)
    }
    if (from === to) throw bad(`packets of priority ${from} must move to another one`)
    if (!isBelow(dscp, 64)) throw bad(`a DSCP is 0 to 63, not ${dscp}`)
    if (!isBelow(pcp, PCPS)) throw bad(`a PCP is 0 to ${PCPS - 1}, not ${pcp}`)
    if (groups.length > PORT_GROUPS_MAX) throw bad(`at most ${PORT_GROUPS_MAX} groups, not ${groups.length}`)
    this.#from = from
    this.#to = to
    this.#dscp = dscp
    this.#pcp = pcp
    for (const [g, ports] of groups.entries()) {
      for (const port of ports) {
        if (!isBelow(port, PORTS_MAX)) throw bad(`ports are 0 to ${PORTS_MAX - 1}, not ${port}`)
        this.#groupsOf[port]! |= 1 << g
      }
    }
  }

  /** Frames for an egress port that moved to another priority. */
  report(_now: Nanos, egress: number): FeatureReport {
    return { movedFrames: this.#movedFrames[egress]! }
  }

  reset(): void {
    this.#movedFrames.fill(0)
  }

  /**
   * Returns the egress priority of a packet that came with `priority`. Rewrites its DSCP if the priority
   * changes.
   */
  arrive(_now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number {
    if (priority !== this.#from) return priority
    if ((this.#groupsOf[ingress]! & this.#groupsOf[egress]!) === 0) return priority
    setDscp(frame, this.#dscp)
    // The next switch, and its pauses, may use the tag (802.1Qbb).
    if (ethernet.hasVlan(frame.view, 0)) ethernet.setVlanPriority(frame.view, 0, this.#pcp)
    this.#movedFrames[egress]! += 1
    return this.#to
  }
}

function isBelow(value: number, bound: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < bound
}

/** Its options are port groups of all switches together: `deadlockPrevention` of a scenario file. */
export const PREVENTION: FeatureEntry = {
  name: 'deadlockPrevention',
  doc: 'Packets on high-risk paths change their priority.',
  usual: 'every packet keeps its priority',
  example: { groups: [[0, 1]], from: 3, to: 4 },
  options: null,
  create: (options: DeadlockPreventionOptions) => new DeadlockPrevention(options),
}
