/** Checks whether a connection may end as it did. */
import { WeirError } from '../../../lib/errors.js'
import type { Fail } from './fail.js'

/** What an end may expect. */
export interface Expectation {
  /** A host has restarted, or an end leaves amid work, so every end is allowed. */
  excused: boolean
  /** New flows are refused where their paths are too busy. */
  mayBeRefused: boolean
  /** The error at the other end. Null: none. The message that it was refused may have been lost. */
  peerError: WeirError | null
}

/** Each end learns of its end once, and of an error by its code. */
export function checkClosed(times: number, error: unknown, fail: Fail): void {
  if (times > 1) fail('was told of its end twice')
  if (error !== null && !(error instanceof WeirError)) fail(`ended with ${error}, which has no code`)
}

/** @param finished all work of both ends is done */
export function checkEnding(
  error: WeirError | null,
  finished: boolean,
  { excused, mayBeRefused, peerError }: Expectation,
  fail: Fail,
): void {
  if (excused || (mayBeRefused && (isRefusal(error) || isRefusal(peerError)))) return
  if (error !== null) fail(`ended: ${error.code} ${error.message}`)
  else if (!finished) fail('ended in order before its work was done')
}

/** True if the flow was refused, at either end. */
export function isRefusal(error: WeirError | null): boolean {
  if (error === null) return false
  return error.code === 'WEIR_NOT_ADMITTED' || /every path to \S+ is used too much/.test(error.message)
}
