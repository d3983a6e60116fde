/** Messages between a thread that offers a service and the thread that uses it. */
import type { ErrorRecord } from './error-record.js'

/** Ids are integers that the user chooses, one for each call under way. */
export type ToService =
  | { type: 'call'; id: number; kind: string; body: unknown }
  | { type: 'abort'; id: number }
  /** Asks for a sign of life, which is an immediate `result`. */
  | { type: 'ping'; id: number }
  /** An event without an answer. */
  | { type: 'event'; event: unknown }
  | { type: 'close' }

/** The first message is `up` or `down`. `result` or `error` answers each call. `down` is the last. */
export type FromService =
  | { type: 'up'; about: unknown }
  | { type: 'progress'; id: number; progress: unknown }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'error'; id: number; error: ErrorRecord }
  | { type: 'event'; event: unknown }
  | { type: 'defect'; error: ErrorRecord }
  | { type: 'down'; error: ErrorRecord | null }

/** What the handler of a call gets in addition to the request. */
export interface CallContext<Progress = unknown> {
  /** Aborts when the caller does not want the answer any more. */
  readonly signal: AbortSignal
  /** Reports progress to the caller. */
  progress(progress: Progress): void
}
