import type { RequestBodies, ResponseContent } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import type { HostParts } from './host-parts.js'

/** What a host answers: everything that the control socket is asked, but to stop. */
export const HOST_REQUESTS = ['status', 'send', 'get', 'cancel', 'listTransfers', 'traffic', 'perf'] as const
export type HostRequest = (typeof HOST_REQUESTS)[number]

/** How long what runs gets to end when a host is closed: transfers first, then measurements and flows. */
export const GRACE_MS = 2000

/** What answers each of them. */
export type HostHandlers = { [K in HostRequest]: Handler<K> }

/** What does not change while a host is up. */
export interface HostAbout {
  address: string
  /** UDP port of RoCEv2. */
  port: number
  /** Name of the port that sends its packets. */
  io: string
  /** Absolute paths; share is '' when nothing is shared. */
  inbox: string
  share: string
}

/**
 * The data side of a daemon: NIC, port, transfers, measuring. It answers requests, wherever it runs: on this thread
 * (`LocalHost`) or on one of its own (`WorkerHost`).
 */
export interface HostService {
  readonly about: HostAbout
  /** The NIC on this thread, for tests and programs that look into it; null if it runs on another one. */
  readonly parts: HostParts | null
  /** Throws what went wrong: a WeirError, or a defect. */
  answer<K extends HostRequest>(
    kind: K,
    request: RequestBodies[K],
    context: RequestContext,
  ): Promise<ResponseContent>
  /** Resolves when the thread that handles packets shows a sign of life. */
  isAlive(): Promise<void>
  /** Ends what runs, transfers at both ends, and closes the port. Call it once. */
  close(): Promise<void>
}
