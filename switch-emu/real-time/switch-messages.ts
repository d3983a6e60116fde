import type { LinkResult } from '../../lib/scenario/result/result.js'
import type { LinkChange, Ports, SwitchReport } from './real-time-fabric.js'

/**
 * The messages between a lab and its switch process over the IPC channel of child_process. The lab sends one
 * question at a time, and one message answers it. The first question is `start`, which describes the
 * process's links: see the messages of the overlay and of veth. The process ends when the channel closes.
 */
export type SwitchQuestion =
  /** Counting starts again at that time of day. Default, or if that time is over: now. */
  | { type: 'begin'; atUnixMs?: number }
  /** Asks for the ports since `begin`, what their queues hold now, and their captures. */
  | { type: 'ports' }
  /**
   * Turns PFC of ports of a switch on again where the watchdog's limit has turned it off. Default: all
   * priorities.
   */
  | { type: 'pfcOn'; switch: string; ports: number[]; priority?: number }
  /** Changes links. */
  | ({ type: 'setLinks' } & LinkChange)
  /** Sets which hosts are in a zone of iNOF. */
  | { type: 'setZone'; zone: number; hosts: string[] }
  /** Asks for ports and series since `begin`. */
  | { type: 'report' }

export type SwitchReply =
  /** The process runs. This answers no question. */
  | { type: 'up' }
  | { type: 'started' }
  | { type: 'begun' }
  | ({ type: 'ports' } & Ports)
  | { type: 'report'; report: SwitchReport }
  /** The priorities of each port for which PFC was off. */
  | { type: 'pfcOn'; restored: number[][] }
  /** The directions that were named, and what is set of them now. */
  | { type: 'linksSet'; links: LinkResult[] }
  | { type: 'zoneSet' }
  | { type: 'error'; code: string; message: string }
