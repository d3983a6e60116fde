/** Messages between a thread that offers a service and the thread that uses it. */
import type { ErrorRecord } from './error-record.js'

/** Ids are whole numbers of the user's choice, one for each call that is not answered yet. */
export type ToService =
  | { type: 'call'; id: number; kind: string; body: unknown }
  | { type: 'abort'; id: number }
  /** A sign of life is asked for: answered at once by `result`. */
  | { type: 'ping'; id: number }
  /** Anything that is not answered. */
  | { type: 'event'; event: unknown }
  | { type: 'close' }

/** The first is `up` or `down`; each call is answered by `result` or `error`; `down` is the last. */
export type FromService =
  | { type: 'up'; about: unknown }
  | { type: 'progress'; id: number; progress: unknown }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'error'; id: number; error: ErrorRecord }
  | { type: 'event'; event: unknown }
  | { type: 'defect'; error: ErrorRecord }
  | { type: 'down'; error: ErrorRecord | null }

/** What the one who answers a call is given, besides the request. */
export interface CallContext<Progress = unknown> {
  /** Aborts when nobody wants the answer any more. */
  readonly signal: AbortSignal
  /** Reports progress to the caller. */
  progress(progress: Progress): void
}
