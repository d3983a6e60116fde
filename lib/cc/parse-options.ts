/** Options of controllers as they are typed on command lines: `eta=0.95`, `minRate=1Gbps`, `wAi=26B`. */
import { WeirError } from '../errors.js'
import { parseBytes, parseDuration, parseRate } from '../units/units.js'
import { ccNames, ccNeedsText, ccOptions } from './catalogue.js'
import { checkIdleOptions, checkOptionNames, type OptionSpec, type OptionValues } from './options.js'

/**
 * Values by name; a bare number is in the option's own unit. Throws WEIR_BAD_ARGUMENT for an unknown controller or
 * option, for text that is no value, and for an option that has no effect beside the others; ranges are checked when the controller is made.
 */
export function parseCcOptions(controller: string, texts: readonly string[]): OptionValues {
  const specs = ccOptions(controller)
  const values: Record<string, number | boolean> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    if (name === '' || value === '') {
      throw new WeirError('WEIR_BAD_ARGUMENT', `option "${text}" of ${controller}: NAME=VALUE is expected`)
    }
    checkOptionNames(controller, specs, { [name]: value })
    values[name] = parsed(specs.find(spec => spec.name === name)!, value)
  }
  checkIdleOptions(controller, specs, values)
  return values
}

function parsed({ name, unit }: OptionSpec, text: string): number | boolean {
  if (unit === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true'
    throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is true or false, not "${text}"`)
  }
  const number = Number(text)
  if (Number.isFinite(number)) return number
  if (unit === 'bytes') return parseBytes(text)
  if (unit === 'bps') return parseRate(text)
  if (unit === 'ns') return parseDuration(text)
  throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is a number, not "${text}"`)
}

const UNITS = { number: '', count: '', bytes: ' bytes', bps: ' bit/s', ns: ' ns', boolean: '' } as const

/** For `--help`: every option of every controller, a line each; those that a controller has of another one once. */
export function describeCcOptions(): string[] {
  const described = new Map<OptionSpec, string>()
  return ccNames().flatMap(controller => {
    const specs = ccOptions(controller)
    const others = new Set(specs.flatMap(spec => described.get(spec) ?? []))
    const own = specs.filter(spec => !described.has(spec))
    for (const spec of own) described.set(spec, controller)
    const shared = others.size > 0 ? [`  and the options of ${[...others].join(' and ')}`] : []
    const needs = ccNeedsText(controller)
    const said = needs === '' ? [] : [`  ${needs}`]
    return [`${controller}:`, ...said, ...own.map(describe), ...shared]
  })
}

function describe({ name, unit, min, max, default: standard, doc }: OptionSpec): string {
  const range = unit === 'boolean' ? 'true|false' : `${min} to ${max}${UNITS[unit]}`
  const usual = standard === null ? '' : `, default ${unit === 'boolean' ? standard === 1 : standard}`
  return `  ${name}=${range}${usual}: ${doc}`
}
