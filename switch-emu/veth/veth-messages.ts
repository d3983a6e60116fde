import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { CapturePlace } from '../port-captures.js'

/**
 * A host of the scenario, and the interface in the switch process's namespace that its link is plugged into.
 */
export interface VethLink {
  host: string
  /** Name of the switch's end of the veth pair, up, with the MTU of the host's end. */
  interface: string
}

/**
 * The first message to the switch process of a veth lab (`weir internal veth-switch FOLDER`, started within the
 * switch's namespace). The other messages are those of `switch-emu/real-time/switch-messages.ts`.
 */
export interface VethStart {
  type: 'start'
  scenario: Scenario
  /** One for every host of the scenario. */
  links: VethLink[]
  /** Looks at the rings without ever sleeping: lowest latency, one whole core. Default false. */
  busyPoll?: boolean
  /** Captures every switch port, with the time of day. Absent: nothing is captured. */
  captures?: CapturePlace
}
