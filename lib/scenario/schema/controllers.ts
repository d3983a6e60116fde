/** `cc`: a controller and its options, as the catalogue of lib/cc has them. `resolve-cc.ts` checks them. */
import * as z from 'zod'
import { ccNames, ccNeedsText, ccOptions } from '../../cc/catalogue.js'
import { neededBeside, type OptionSpec } from '../../cc/options.js'
import {
  formatBytes,
  formatDuration,
  formatRate,
  parseBytes,
  parseDuration,
  parseRate,
} from '../../units/units.js'
import { bytesJson, DURATION_JSON, field, listed, RATE_JSON, yesNo } from './fields.js'
import { key, mapping } from './keys.js'

/** Examples of options that have no default of their own. */
const SAMPLES: Readonly<Record<OptionSpec['unit'], unknown>> = {
  number: 1,
  count: 1,
  bytes: '64KB',
  bps: '1Gbps',
  ns: '10us',
  boolean: true,
}

/** A mapping for each controller, by name. */
export const controllerSchemas = ccNames().map(name =>
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
      ...Object.fromEntries(ccOptions(name).map((spec, _, specs) => [spec.name, optionKey(spec, specs)])),
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

function optionKey(spec: OptionSpec, specs: readonly OptionSpec[]) {
  const needed = neededBeside(specs, spec)
  // By default it follows from how flows begin, which is at line rate.
  const isUnsaid =
    specs.find(({ name }) => name === spec.idle?.name)?.default === null && spec.idle?.is === false
  const beside = isUnsaid ? { [spec.idle!.name]: true } : needed
  const standard = spec.default === null ? undefined : optionText(spec, spec.default)
  return key(optionField(spec), {
    description: sentence(spec.doc),
    ...(standard === undefined ? { usual: 'worked out from the connection' } : { default: standard }),
    example: standard ?? SAMPLES[spec.unit],
    ...(Object.keys(beside).length > 0 && { with: beside }),
  })
}

/** Options beside which others have no effect, in the words of JSON Schema. */
function refusals(specs: readonly OptionSpec[]): Record<string, unknown> {
  const all = specs.flatMap((spec): Record<string, unknown>[] => {
    const { name, unit, idle } = spec
    if (idle === undefined) return []
    const asked = unit === 'boolean' ? { [name]: true } : { [name]: undefined }
    const needed = neededBeside(specs, spec)
    if (Object.keys(needed).length > 0) return [{ anyOf: [{ not: having(asked) }, having(needed)] }]
    return [{ not: having({ ...asked, [idle.name]: idle.is }) }]
  })
  return all.length > 0 ? { allOf: all } : {}
}

/** Keys that are given, with this value; undefined: with any. */
function having(values: Readonly<Record<string, boolean | undefined>>): Record<string, unknown> {
  const bound = Object.entries(values).filter(([, value]) => value !== undefined)
  const properties = Object.fromEntries(bound.map(([name, value]) => [name, { const: value }]))
  return { required: Object.keys(values), ...(bound.length > 0 && { properties }) }
}

/** Whoever resolves `cc` checks the value; here is only what it looks like. */
function optionField(spec: OptionSpec) {
  const { unit, min: minimum, max: maximum } = spec
  const [low, high] = [minimum, maximum].map(bound => String(optionText(spec, bound)))
  const kept = (words: string, json: Record<string, unknown>) =>
    field(`${words}, ${low} to ${high}`, json, value => value)
  switch (unit) {
    case 'boolean':
      return yesNo
    case 'bytes':
      return kept('size', bytesJson(minimum, maximum))
    case 'bps':
      return kept('rate', RATE_JSON)
    case 'ns':
      return kept('time', DURATION_JSON)
    case 'count':
      return kept('whole number', { type: 'integer', minimum, maximum })
    default:
      return kept('number', { type: 'number', minimum, maximum })
  }
}

/** A value as a file has it, exactly. */
function optionText({ unit }: OptionSpec, value: number): unknown {
  if (unit === 'bytes') {
    const binary = [30, 20, 10].flatMap((power, i) =>
      value > 0 && value % 2 ** power === 0 ? [`${value / 2 ** power}${['GiB', 'MiB', 'KiB'][i]}`] : [],
    )
    return exact(value, parseBytes, [formatBytes(value), ...binary, `${value}B`])
  }
  if (unit === 'bps') return exact(value, parseRate, [formatRate(value), `${value}bps`])
  if (unit === 'ns') return exact(value, parseDuration, [formatDuration(value), `${value}ns`])
  return unit === 'boolean' ? value === 1 : value
}

/** The first text that is read as this very value. */
function exact(value: number, parse: (text: string) => number, texts: readonly string[]): string {
  return texts.find(text => parse(text) === value)!
}

/** The catalogues write phrases; the reference page has sentences. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
