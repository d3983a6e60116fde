/** What console.log and JSON.stringify show of an object: a few words in place of what it is made of. */
import type { InspectOptions, inspect } from 'node:util'

/** The method of that name is called by console.log and util.inspect. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** What it returns for an object that says `toJSON`. */
export function shown(of: { toJSON(): object }, options: InspectOptions, inspectOf: typeof inspect): string {
  return `${of.constructor.name} ${inspectOf(of.toJSON(), options)}`
}
