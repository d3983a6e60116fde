/**
 * Converts errors for another thread or process, because structured clones preserve neither codes nor
 * classes.
 */
import { ERROR_CODES, type ErrorCode, WeirError } from '../errors.js'

/** How many nested causes are preserved. */
const CAUSES_MAX = 8

/** An error as plain data. */
export interface ErrorRecord {
  /** Code of a WeirError. Null for other errors. */
  code: ErrorCode | null
  name: string
  message: string
  stack: string
  /** Its cause, or null. If something other than an Error was thrown, its text is the message. */
  cause: ErrorRecord | null
}

/** Returns the data from which `errorOf` restores an error: code, name, message, stack and causes. */
export function recordOf(error: unknown, causes = CAUSES_MAX): ErrorRecord {
  if (!(error instanceof Error)) {
    return { code: null, name: 'Error', message: String(error), stack: '', cause: null }
  }
  const { name, message, stack = '', cause } = error
  return {
    code: error instanceof WeirError ? error.code : null,
    name,
    message,
    stack,
    cause: cause === undefined || causes === 0 ? null : recordOf(cause, causes - 1),
  }
}

/**
 * Returns a WeirError if the record is of one, else an Error of the same name. Its stack shows where the
 * original was thrown.
 */
export function errorOf(record: ErrorRecord): Error {
  const { code, name, message, stack, cause } = record
  const options = cause === null ? undefined : { cause: errorOf(cause) }
  const isOurs = code !== null && Object.hasOwn(ERROR_CODES, code)
  const error = isOurs ? new WeirError(code, message, options) : new Error(message, options)
  if (error.name !== name) error.name = name
  if (stack !== '') error.stack = stack
  return error
}
