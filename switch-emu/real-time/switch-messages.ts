import type { Ports, SwitchReport } from './real-time-fabric.js'

/**
 * The messages between a lab and its switch process over the IPC channel of child_process. The lab asks one
 * question at a time; each is answered by one message. The first question is `start`, which says what the
 * process's links are made of: see the messages of the overlay and of veth. The process ends when the channel
 * closes.
 */
export type SwitchQuestion =
  /** Counting starts anew, at that time of day; by default, or when it is over, now. */
  | { type: 'begin'; atUnixMs?: number }
  /** The ports since `begin`, what their queues hold now, and their captures. */
  | { type: 'ports' }
  /** Restores PFC of ports of a switch where the watchdog's limit has turned it off; default: of all priorities. */
  | { type: 'pfcOn'; switch: string; ports: number[]; priority?: number }
  /** Ports and series since `begin`. */
  | { type: 'report' }

export type SwitchReply =
  /** The process runs: answers no request. */
  | { type: 'up' }
  | { type: 'started' }
  | { type: 'begun' }
  | ({ type: 'ports' } & Ports)
  | { type: 'report'; report: SwitchReport }
  /** The priorities that PFC was off for, of each port. */
  | { type: 'pfcOn'; restored: number[][] }
  | { type: 'error'; code: string; message: string }
