/** What a thread that offers a service and the thread that uses it tell each other. */
import type { ErrorRecord } from './error-record.js'

/** Ids are whole numbers of the user's choice, one for each call that is not answered yet. */
export type ToService =
  | { type: 'call'; id: number; kind: string; body: unknown }
  | { type: 'abort'; id: number }
  /** Anything that is not answered. */
  | { type: 'event'; event: unknown }
  | { type: 'close' }

/** First `up` or `down`; each call is answered by `result` or `error`; `down` is the last word. */
export type FromService =
  | { type: 'up'; about: unknown }
  | { type: 'progress'; id: number; progress: unknown }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'error'; id: number; error: ErrorRecord }
  | { type: 'event'; event: unknown }
  | { type: 'defect'; error: ErrorRecord }
  | { type: 'down'; error: ErrorRecord | null }

/** What whoever answers a call is given besides what was asked. */
export interface CallContext<Progress = unknown> {
  /** Aborts when nobody wants the answer any more. */
  readonly signal: AbortSignal
  /** Tells whoever asked how it stands. */
  progress(progress: Progress): void
}
