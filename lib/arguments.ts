/** Checks of what a program hands in: where it is not written in TypeScript, nothing else has looked at it. All throw WEIR_BAD_ARGUMENT. */
import { WeirError } from './errors.js'

const bad = (text: string) => new WeirError('WEIR_BAD_ARGUMENT', text)

/** @param what is done, for messages: 'connect' */
export function checkObject(what: string, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null)
    throw bad(`${what}: ${name} is an object, not ${told(value)}`)
}

export function checkInstance(
  what: string,
  name: string,
  kind: abstract new (...of: never[]) => object,
  value: unknown,
): void {
  if (!(value instanceof kind)) throw bad(`${what}: ${name} is a ${kind.name}, not ${told(value)}`)
}

/** A text that is not empty. */
export function checkText(what: string, name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw bad(`${what}: ${name} is a text, not ${told(value)}`)
}

/** For what fails because something cannot be handed to another thread, as a function: says so. Other errors stay. */
export function asArgumentError(what: string, error: unknown): unknown {
  if (!(error instanceof DOMException) || error.name !== 'DataCloneError') return error
  return new WeirError('WEIR_BAD_ARGUMENT', `${what}: an argument is no plain data: ${error.message}`, {
    cause: error,
  })
}

/** How a message names a value: never by what it contains. */
function told(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (value === '') return 'an empty one'
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
