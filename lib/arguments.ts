/** Checks of what a program hands in: where it is not written in TypeScript, nothing else has looked at it. All throw WEIR_BAD_ARGUMENT. */
import { WeirError } from './errors.js'
import { offer } from './offer.js'
import { printable } from './printable.js'

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

/** The names of an options object, from a table: the compiler refuses one that lacks a name. */
export function optionNames<Options extends object>(names: Record<keyof Options, true>): readonly string[] {
  return Object.keys(names)
}

/**
 * A copy of the options that has the inherited ones as its own, and none that is undefined. Throws for what is no object, and for a name that
 * nothing reads.
 */
export function knownOptions<Options extends object>(
  what: string,
  names: readonly string[],
  options: Options,
): Options {
  checkObject(what, 'options', options)
  for (const name in options)
    if (!names.includes(name))
      throw bad(`${what}: there is no option '${printable(name)}'; there are ${offer(name, names)}`)
  const values = options as Readonly<Record<string, unknown>>
  const given = names.filter(name => values[name] !== undefined)
  return Object.fromEntries(given.map(name => [name, values[name]])) as Options
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
