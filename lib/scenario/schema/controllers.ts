/** `cc`: a controller and its options, by the catalogue of lib/cc. `resolve-cc.ts` checks them. */
import * as z from 'zod'
import { ccNames, ccNeedsText, ccOptions } from '../../cc/catalogue.js'
import type { OptionSpec } from '../../cc/options.js'
import { neededBeside } from '../../options/idle.js'
import type { IdleRule } from '../../options/option.js'
import { listed } from '../../options/value.js'
import { mapping } from './keys.js'
import { optionKeys } from './option-keys.js'

/** A mapping for each controller, by name. */
const controllerSchemas = ccNames().map(name =>
  mapping(
    {
      title: name,
      about: aboutOf(name),
      json: { required: ['name'], ...refusals(ccOptions(name)) },
    },
    {
      name: z.literal(name).meta({
        words: `\`${name}\``,
        description: 'Name of the controller.',
        example: name,
      }),
      ...optionKeys(ccOptions(name), option => besideOf(option as OptionSpec, ccOptions(name))),
    },
  ),
)

function aboutOf(name: string): string {
  const needs = ccNeedsText(name)
  return `Options of the controller \`${name}\`.${needs === '' ? '' : ` It ${needs}.`}`
}

export const ccSchema = z
  .union([z.enum(ccNames()), ...controllerSchemas])
  .meta({ words: `${listed(ccNames())}, or mapping of \`name\` and options` })

/**
 * Additions to the documentation of an option: the other keys that its example needs, and that no value is
 * its default.
 */
function besideOf(spec: OptionSpec, specs: readonly OptionSpec[]) {
  const beside = { ...unsaid(spec, specs), ...neededBeside(specs, spec) }
  return {
    ...(spec.default === null && { usual: 'worked out from the connection' }),
    ...(Object.keys(beside).length > 0 && { with: beside }),
  }
}

/**
 * The values of flags that are absent and have no default. They follow from how flows begin, which is at line
 * rate by default, so they are false.
 */
function unsaid({ idle = [] }: OptionSpec, specs: readonly OptionSpec[]): Record<string, boolean> {
  const flags = idle.flatMap(({ while: conditions }) => Object.entries(conditions))
  const follows = flags.filter(
    ([name, is]) => is === false && specs.find(spec => spec.name === name)?.default === null,
  )
  return Object.fromEntries(follows.map(([name]) => [name, true]))
}

/** Options that make others ineffective, as JSON Schema. */
function refusals(specs: readonly OptionSpec[]): Record<string, unknown> {
  const all = specs.flatMap((spec): Record<string, unknown>[] => {
    const { name, kind, idle = [] } = spec
    const asked = kind === 'flag' ? { [name]: true } : { [name]: undefined }
    const needed = neededBeside(specs, spec)
    if (Object.keys(needed).length > 0) return [{ anyOf: [{ not: having(asked) }, having(needed)] }]
    return idle.map(({ while: conditions }) => ({ not: having({ ...asked, ...constants(conditions) }) }))
  })
  return all.length > 0 ? { allOf: all } : {}
}

/** The values of conditions as JSON Schema. Undefined stands for any value. */
function constants(conditions: IdleRule['while']): Record<string, unknown> {
  const entries = Object.entries(conditions)
  return Object.fromEntries(entries.map(([name, is]) => [name, typeof is === 'object' ? undefined : is]))
}

/** JSON Schema for "these keys are present with these values". Undefined stands for any value. */
function having(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const bound = Object.entries(values).filter(([, value]) => value !== undefined)
  const properties = Object.fromEntries(bound.map(([name, value]) => [name, { const: value }]))
  return { required: Object.keys(values), ...(bound.length > 0 && { properties }) }
}
