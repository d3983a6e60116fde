/**
 * Prevention of PFC deadlocks: packets on high-risk paths change their priority, so that no cycle of queues waits
 * for itself.
 *
 * The operator puts ports that could pass pauses round in a circle into one **port group**: the two ring ports of a switch in a
 * ring, the uplinks of a leaf in a Clos network. A packet that comes in by a port of a group and goes out by one
 * of the same group (the same port counts too) is **high-risk**: traffic in a loop, or hook traffic that comes down to
 * a leaf and goes up again. If its priority is `from`, its DSCP and the PCP of its VLAN tag are rewritten and it is queued with
 * the priority `to`; every switch after this one sees them, whichever it goes by.
 *
 * If `to` is lossless, the packet's memory stays accounted to `from`, because the sender on its link can only be
 * paused by that priority. So queues of `from` may wait for queues of `to`, but never the other way round, and the
 * cycle is open. If `to` is lossy, its memory is accounted to `to`: it pauses nobody any more.
 *
 * It acts on IP packets only: they carry a DSCP. Source: white paper on lossless networks, "PFC deadlock prevention".
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

/** Groups that one switch can have: a port's memberships are bits of a number. */
const PORT_GROUPS_MAX = 31

/** Port groups of one switch, and where high-risk packets move to. */
export interface DeadlockPreventionOptions {
  /** Port groups, each of one or more port numbers; a port may be in several. */
  groups: readonly (readonly number[])[]
  /** Priority of the packets that may be moved, 0 to 7. */
  from: number
  /** Priority that high-risk ones get, 0 to 7, not `from`. */
  to: number
  /** DSCP that they get, 0 to 63: one that this switch and those after it map to `to`. */
  dscp: number
  /** PCP that those with a VLAN tag get, 0 to 7. Default: `to`. */
  pcp?: number
}

/** The port groups of one switch. */
export class DeadlockPrevention implements SwitchFeature {
  readonly #from: number
  readonly #to: number
  readonly #dscp: number
  readonly #pcp: number
  /** By port: bit g = member of group g. */
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

  /** Frames for an egress port that have been moved to another priority. */
  report(_now: Nanos, egress: number): FeatureReport {
    return { movedFrames: this.#movedFrames[egress]! }
  }

  reset(): void {
    this.#movedFrames.fill(0)
  }

  /** The egress priority of a packet that came with `priority`; rewrites its DSCP if that changes. */
  arrive(_now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number {
    if (priority !== this.#from) return priority
    if ((this.#groupsOf[ingress]! & this.#groupsOf[egress]!) === 0) return priority
    setDscp(frame, this.#dscp)
    // The next switch may go by the tag, and so may its pauses (802.1Qbb).
    if (ethernet.hasVlan(frame.view, 0)) ethernet.setVlanPriority(frame.view, 0, this.#pcp)
    this.#movedFrames[egress]! += 1
    return this.#to
  }
}

function isBelow(value: number, bound: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < bound
}

/** Its port groups are of all switches together: `deadlockPrevention` of a scenario file. */
export const PREVENTION: FeatureEntry = {
  name: 'deadlockPrevention',
  doc: 'Packets on high-risk paths change their priority.',
  usual: 'every packet keeps its priority',
  example: { groups: [[0, 1]], from: 3, to: 4 },
  options: null,
  create: (options: DeadlockPreventionOptions) => new DeadlockPrevention(options),
}
