/** What the main thread and the thread of a host tell each other. */
import type { Loose, Progress, RequestBodies, ResponseContent } from '../control/messages.js'
import type { ErrorRecord } from '../thread/error-record.js'
import type { HostAbout, HostRequest } from './host-service.js'
import type { HostOptions } from './local-host.js'

/** What the thread is started with. */
export interface HostStart {
  options: HostOptions
  /** Of its log, which goes to the same standard error. */
  logLevel: string
  logName: string
}

/** From the main thread. Ids are whole numbers of its choice, one for each call that is not answered yet. */
export type ToHost =
  | { type: 'call'; id: number; kind: HostRequest; request: RequestBodies[HostRequest] }
  | { type: 'abort'; id: number }
  | { type: 'close' }

/** From the thread: first `up` or `down`; each call is answered by `result` or `error`; `down` is its last word. */
export type FromHost =
  | { type: 'up'; about: HostAbout }
  | { type: 'progress'; id: number; progress: Loose<Progress> }
  | { type: 'result'; id: number; content: ResponseContent }
  | { type: 'error'; id: number; error: ErrorRecord }
  | { type: 'defect'; error: ErrorRecord }
  | { type: 'down'; error: ErrorRecord | null }
