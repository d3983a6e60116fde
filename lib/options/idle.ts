/** Options that have no effect beside others: rules that stand in the tables, and what is said of an option that is given all the same. */
import { WeirError } from '../errors.js'
import { type Condition, type IdleRule, keyOf, type Option, type Value } from './option.js'

/** Why an option has no effect beside others: what those are, and what to set so that it has one. */
export interface Idle {
  while: string
  mend: string
}

/** Values by name or by `keyOf`. */
export type Values = Readonly<Record<string, unknown>>

/** The options of the table that are given and have no effect, each with the reason and the way to mend it. */
export function idleOptions(options: readonly Option[], given: Values): { name: string; message: string }[] {
  return options.flatMap(option => {
    const rule = valueIn(given, option) === undefined ? undefined : idleRule(option, options, given)
    return rule === undefined
      ? []
      : [{ name: option.name, message: messageOf(option.name, rule, options, given) }]
  })
}

/** Throws WEIR_BAD_ARGUMENT for an option that is given and has no effect beside the others. @param topic first word of the message */
export function checkIdleOptions(topic: string, options: readonly Option[], given: Values): void {
  const [first] = idleOptions(options, given)
  if (first !== undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${first.message}`)
}

/** True if the option has no effect beside these values. */
export function isIdle(option: Option, options: readonly Option[], values: Values): boolean {
  return idleRule(option, options, values) !== undefined
}

/** A flag that is false asks for nothing. */
function idleRule(option: Option, options: readonly Option[], values: Values): IdleRule | undefined {
  const { kind, idle = [] } = option
  if (kind === 'flag' && Number(valueIn(values, option) ?? 1) === 0) return undefined
  return idle.find(rule => holds(rule, options, values))
}

/** The reason and the way to mend it, for messages. */
export function idleText(name: string, idle: Idle): string {
  return `${name} has no effect while ${idle.while}: leave it out, or set ${idle.mend}`
}

/**
 * What has to be given beside the option since the default of another one takes its effect away; as a rule nothing. Options of which nothing can
 * be said so, because a rule has several conditions, are left out.
 */
export function neededBeside(options: readonly Option[], { idle = [] }: Option): Record<string, boolean> {
  const needed = idle.flatMap(({ while: conditions }): [string, boolean][] => {
    const [[name = '', is] = [], ...more] = Object.entries(conditions)
    if (typeof is !== 'boolean' || more.length > 0) return []
    return options.find(option => option.name === name)?.default === is ? [[name, !is]] : []
  })
  return Object.fromEntries(needed)
}

function holds({ while: conditions }: IdleRule, options: readonly Option[], given: Values): boolean {
  return Object.entries(conditions).every(([name, condition]) => {
    const option = options.find(one => one.name === name)!
    const value = valueIn(given, option)
    if (typeof condition === 'object' && 'given' in condition) return value !== undefined
    return meets(condition, value ?? option.default)
  })
}

function meets(condition: Exclude<Condition, { given: true }>, value: unknown): boolean {
  if (value === null || value === undefined) return false
  if (typeof condition !== 'object') return isSame(value, condition)
  return 'above' in condition ? Number(value) > condition.above : !isSame(value, condition.not)
}

/** true and false are 1 and 0 where options travel between hosts. */
function isSame(value: unknown, wanted: Value): boolean {
  return typeof wanted === 'boolean' ? Number(value) === Number(wanted) : value === wanted
}

function valueIn(values: Values, option: Option): unknown {
  return values[keyOf(option)] ?? values[option.name]
}

function messageOf(name: string, rule: IdleRule, options: readonly Option[], given: Values): string {
  const [[other = '', condition] = []] = Object.entries(rule.while)
  if (typeof condition === 'object' && 'given' in condition) {
    return `${name} has no effect beside ${other}: leave one of them out`
  }
  const why =
    rule.why ??
    Object.entries(rule.while)
      .map(one => conditionText(one, options, given))
      .join(' and ')
  return idleText(name, {
    while: why,
    mend: rule.mend ?? `${other} to ${typeof condition === 'boolean' ? !condition : ''}`,
  })
}

function conditionText(
  [name, condition]: [string, Condition],
  options: readonly Option[],
  given: Values,
): string {
  if (typeof condition === 'object' && 'above' in condition) return `${name} is above ${condition.above}`
  const option = options.find(one => one.name === name)!
  const value = typeof condition === 'object' ? (valueIn(given, option) ?? option.default) : condition
  return `${name} is ${value}`
}
