import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { ErrorRecord } from '../../lib/thread/error-record.js'
import type { Ports } from '../real-time/real-time-fabric.js'
import type { LinkState } from './link-states.js'

/**
 * The first message to the keeper of a lab, over the IPC channel of child_process. The next ones are those of
 * `real-time/switch-messages.ts`, which the keeper hands on to the switch process; or RELEASE. When the channel closes without
 * it, the lab goes.
 */
export interface KeeperStart {
  type: 'start'
  /** Name of the lab; its state is on disk already. */
  lab: string
  scenario: Scenario
}

/** The lab is to stay when the channel closes. Answered by the same. */
export const RELEASE = 'release'

/**
 * What whoever connects to the keeper's socket writes, as JSON, before it closes its half of the connection: nothing is a question
 * for the status.
 */
export interface KeeperRequest {
  type: 'pfcOn'
  /** As scenario files name ports: s1:s2. */
  port: string
  /** Absent: all. */
  priority?: number
}

/** The answer to KeeperRequest. */
export type KeeperReply =
  /** The ports and the priorities for which PFC was off. */
  { type: 'pfcOn'; restored: { port: string; priority: number }[] } | { type: 'error'; error: ErrorRecord }

/** What the keeper writes to whoever connects to its socket, as JSON, before it closes the connection. */
export interface KeeperStatus {
  unixMs: number
  processes: { name: string; pid: number; alive: boolean; said: string }[]
  /** States of the hosts' links, in the order of the hosts. */
  links: LinkState[]
  /** Null when the switch process does not answer any more. */
  switch: Ports | null
}
