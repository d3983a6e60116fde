import type { Endpoint } from '../../lib/io/vxlan-socket.js'
import type { PortResult } from '../../lib/scenario/result.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import type { HostLink, OverlayReport } from './overlay-switch.js'

/**
 * What the lab and its switch process say to each other over the IPC channel of child_process. The lab asks one
 * question at a time; each is answered by one message.
 */
export type SwitchRequest =
  | { type: 'start'; scenario: Scenario; local: Endpoint; links: HostLink[] }
  /** Counting starts anew. */
  | { type: 'begin' }
  /** The ports since `begin`, and what their queues hold now. */
  | { type: 'ports' }
  /** Ports and series since `begin`. */
  | { type: 'report' }

export type SwitchReply =
  /** The process runs: answers no request. */
  | { type: 'up' }
  | { type: 'started' }
  | { type: 'begun' }
  | { type: 'ports'; ports: PortResult[]; queueBytes: number[] }
  | { type: 'report'; report: OverlayReport }
  | { type: 'error'; code: string; message: string }
