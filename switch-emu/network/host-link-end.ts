import type { Node } from '../../lib/frame/node.js'
import type { Nanos } from '../../lib/time/nanos.js'

/** A node at a host's end of its link, and what it learns when the link changes. */
export interface HostLinkEnd extends Node {
  /** The host's link has this rate from now on, in the direction from the host. */
  setLinkRate?(now: Nanos, rateBps: number): void
  /** The delays to and from the host from now on. A node has it that adds the link's delay itself, see `hostsKeepDelays`. */
  setLinkDelay?(toHostNs: Nanos, fromHostNs: Nanos): void
  /** Frames on their way to the host are lost. Returns their number. The same nodes have it. */
  cutLink?(now: Nanos): number
}
