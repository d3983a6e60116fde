import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import type { LinkSettings } from '../../lib/sim/link-options.js'
import type { ErrorRecord } from '../../lib/thread/error-record.js'
import type { Ports } from '../real-time/real-time-fabric.js'
import type { LinkState } from './link-states.js'

/**
 * The first message to the keeper of a lab, over the IPC channel of child_process. The next ones are those of
 * `real-time/switch-messages.ts`, which the keeper passes to the switch process, or RELEASE. If the channel
 * closes before RELEASE, the lab is taken down.
 */
export interface KeeperStart {
  type: 'start'
  /** Name of the lab. Its state is on disk already. */
  lab: string
  scenario: Scenario
}

/** The lab remains when the channel closes. The keeper answers with the same message. */
export const RELEASE = 'release'

/**
 * A client of the keeper's socket writes this as JSON before it closes its half of the connection. An empty
 * request asks for the status.
 */
export type KeeperRequest = PfcOnRequest | SetLinkRequest | SetZoneRequest

export interface PfcOnRequest {
  type: 'pfcOn'
  /** As scenario files name ports: s1:s2. */
  port: string
  /** Absent: all. */
  priority?: number
}

export interface SetLinkRequest {
  type: 'setLink'
  /** As scenario files name links and directions: s1--s2, s1:s2. */
  link: string
  settings: LinkSettings
  /** First the link becomes as the scenario says. */
  reset: boolean
}

export interface SetZoneRequest {
  type: 'setZone'
  zone: number
  /** Names and ranges of hosts. */
  hosts: string[]
}

/** The answer to KeeperRequest. */
export type KeeperReply =
  /** The ports, and the priorities for which PFC was off. */
  | { type: 'pfcOn'; restored: { port: string; priority: number }[] }
  /** The directions that were named, and what is set of them now. */
  | { type: 'setLink'; links: LinkResult[] }
  /** Its members now. */
  | { type: 'setZone'; hosts: string[] }
  | { type: 'error'; error: ErrorRecord }

/** The keeper writes this as JSON to clients of its socket before it closes the connection. */
export interface KeeperStatus {
  unixMs: number
  processes: { name: string; pid: number; alive: boolean; said: string }[]
  /** States of the hosts' links, in the order of the hosts. */
  links: LinkState[]
  /** Null when the switch process does not answer any more. */
  switch: Ports | null
}
