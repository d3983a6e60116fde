import type { RequestBodies, ResponseContent } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import type { HostParts } from './host-parts.js'

/** The requests of the control socket that a host answers: all but stop. */
export const HOST_REQUESTS = [
  'status',
  'send',
  'sendTree',
  'get',
  'getTree',
  'cancel',
  'listTransfers',
  'traffic',
  'perf',
  'tunnel',
] as const
export type HostRequest = (typeof HOST_REQUESTS)[number]

/** How long transfers, and then measurements and flows, may take to end when a host is closed. */
export const GRACE_MS = 2000

/** The handler of each request. */
export type HostHandlers = { [K in HostRequest]: Handler<K> }

/** Properties of a host that do not change while it is open. */
export interface HostAbout {
  address: string
  /** UDP port of RoCEv2. */
  port: number
  /** Name of the port that sends its packets. */
  io: string
  /** Absolute paths. share is '' when the host shares nothing. */
  inbox: string
  share: string
}

/**
 * The data side of a daemon: NIC, port, transfers, measuring. It answers requests either on this thread
 * (`LocalHost`) or on a thread of its own (`WorkerHost`).
 */
export interface HostService {
  readonly about: HostAbout
  /** The NIC on this thread, for tests and programs that examine it. Null if it runs on another thread. */
  readonly parts: HostParts | null
  /** Answers a request. Throws a WeirError, or a defect. */
  answer<K extends HostRequest>(
    kind: K,
    request: RequestBodies[K],
    context: RequestContext,
  ): Promise<ResponseContent>
  /** Resolves when the thread that handles packets answers. */
  isAlive(): Promise<void>
  /** Ends what runs, transfers at both ends, and closes the port. Call it once. */
  close(): Promise<void>
}
