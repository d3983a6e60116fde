/** Errors on their way to another thread or process: structured clones keep neither codes nor classes. */
import { ERROR_CODES, type ErrorCode, WeirError } from '../errors.js'

/** Depth to which causes of causes are kept. */
const CAUSES_MAX = 8

/** An error as plain data. */
export interface ErrorRecord {
  /** Code of a WeirError; null of any other. */
  code: ErrorCode | null
  name: string
  message: string
  stack: string
  /** What caused it, or null. If something other than an Error was thrown, its text is the message. */
  cause: ErrorRecord | null
}

/** What `errorOf` makes an error of again: code, name, message, stack and causes. */
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

/** A WeirError if it was one, or else an Error of the same name. Its stack is that of where it was thrown. */
export function errorOf(record: ErrorRecord): Error {
  const { code, name, message, stack, cause } = record
  const options = cause === null ? undefined : { cause: errorOf(cause) }
  const isOurs = code !== null && Object.hasOwn(ERROR_CODES, code)
  const error = isOurs ? new WeirError(code, message, options) : new Error(message, options)
  if (error.name !== name) error.name = name
  if (stack !== '') error.stack = stack
  return error
}
