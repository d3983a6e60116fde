import { WeirError } from '../errors.js'

/** What an option of a controller is, for checks, help texts and scenario files. */
export interface OptionSpec {
  name: string
  /** bytes, bit/s and ns are what the controller gets; files and command lines give them with units. */
  unit: 'number' | 'count' | 'bytes' | 'bps' | 'ns' | 'boolean'
  min: number
  max: number
  /** Null: worked out from the connection, as `doc` says. */
  default: number | null
  doc: string
  /** When the option has no effect. A user who gives it then gets an error that says so. */
  idle?: IdleBeside
}

/** Another option that takes an option's effect away. */
export interface IdleBeside {
  name: string
  /** The value with which it does, be it given or the default; absent: any value that is given. */
  is?: boolean
}

const KINDS = {
  number: 'a number',
  count: 'a whole number',
  bytes: 'a number of bytes',
  bps: 'a number of bit/s',
  ns: 'a number of ns',
  boolean: 'true or false',
} as const satisfies Record<OptionSpec['unit'], string>

/** Options by name. true and false are 1 and 0 where options travel between hosts. */
export type OptionValues = Readonly<Record<string, number | boolean | string>>

/**
 * The option's value, its default when it is absent (NaN stands for a null default).
 * Throws WEIR_BAD_ARGUMENT when it is no number of the stated range.
 */
export function optionNumber(
  controller: string,
  specs: readonly OptionSpec[],
  values: OptionValues,
  name: string,
) {
  const spec = specs.find(s => s.name === name)
  if (spec === undefined) throw new WeirError('WEIR_INTERNAL', `${controller} has no option ${name}`)
  const value = values[name]
  if (value === undefined) return spec.default ?? Number.NaN
  // Number('') and Number(true) are numbers; neither is what was meant.
  const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  const number = isNumber ? Number(value) : Number.NaN
  const whole = spec.unit !== 'count' || Number.isInteger(number)
  if (!(number >= spec.min && number <= spec.max && whole)) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${controller}: ${name} is ${KINDS[spec.unit]} from ${spec.min} to ${spec.max}, not ${value}`,
    )
  }
  return number
}

/** The same for an option that is true or false. 0 and 1 are accepted: that is how options travel between hosts. */
export function optionFlag(
  controller: string,
  specs: readonly OptionSpec[],
  values: OptionValues,
  name: string,
): boolean {
  const spec = specs.find(s => s.name === name)
  if (spec === undefined) throw new WeirError('WEIR_INTERNAL', `${controller} has no option ${name}`)
  const value = values[name] ?? spec.default ?? 0
  if (value === true || value === 1) return true
  if (value === false || value === 0) return false
  throw new WeirError('WEIR_BAD_ARGUMENT', `${controller}: ${name} is true or false, not ${value}`)
}

/**
 * Options that are given and have no effect beside the others, each with the reason and the way to mend it. A flag that is
 * given as false asks for nothing, so it is none of them.
 */
export function idleOptions(
  specs: readonly OptionSpec[],
  values: OptionValues,
): { name: string; message: string }[] {
  return specs.flatMap(({ name, unit, idle }) => {
    const given = values[name]
    if (idle === undefined || given === undefined || (unit === 'boolean' && Number(given) === 0)) return []
    const other = values[idle.name]
    if (idle.is === undefined) {
      const message = `${name} has no effect beside ${idle.name}: leave one of them out`
      return other === undefined ? [] : [{ name, message }]
    }
    const standard = specs.find(spec => spec.name === idle.name)?.default ?? null
    if ((other ?? standard) === null || Number(other ?? standard) !== Number(idle.is)) return []
    const mend = `leave it out, or set ${idle.name} to ${!idle.is}`
    return [{ name, message: `${name} has no effect while ${idle.name} is ${idle.is}: ${mend}` }]
  })
}

/** What has to be given beside the option, since the default of another one takes its effect away; as a rule nothing. */
export function neededBeside(specs: readonly OptionSpec[], { idle }: OptionSpec): Record<string, boolean> {
  if (idle?.is === undefined) return {}
  const standard = specs.find(spec => spec.name === idle.name)?.default
  return standard === Number(idle.is) ? { [idle.name]: !idle.is } : {}
}

/** Throws WEIR_BAD_ARGUMENT for an option that has no effect beside the others. */
export function checkIdleOptions(
  controller: string,
  specs: readonly OptionSpec[],
  values: OptionValues,
): void {
  const [first] = idleOptions(specs, values)
  if (first !== undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `${controller}: ${first.message}`)
}

/** Throws WEIR_BAD_ARGUMENT for an option that the controller does not have. */
export function checkOptionNames(
  controller: string,
  specs: readonly OptionSpec[],
  values: OptionValues,
): void {
  for (const name of Object.keys(values)) {
    if (!specs.some(s => s.name === name)) {
      const known = specs.map(s => s.name).join(', ')
      throw new WeirError('WEIR_BAD_ARGUMENT', `${controller} has no option ${name}; it has ${known}`)
    }
  }
}
