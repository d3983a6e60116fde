import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { CapturePlace } from '../captures/port-captures.js'

/** A host of the scenario, and its interface in the switch process's namespace. */
export interface VethLink {
  host: string
  /** Name of the switch's end of the veth pair. It is up, with the MTU of the host's end. */
  interface: string
}

/**
 * The first message to the switch process of a veth lab (`weir internal veth-switch FOLDER`, which runs in
 * the switch's namespace). The other messages are those of `switch-emu/real-time/switch-messages.ts`.
 */
export interface VethStart {
  type: 'start'
  scenario: Scenario
  /** One for every host of the scenario. */
  links: VethLink[]
  /**
   * True: polls the rings without sleeping. This gives the lowest latency and uses one core. Default false.
   */
  busyPoll?: boolean
  /** Captures every switch port, by the time of day. Absent: nothing is captured. */
  captures?: CapturePlace
}
