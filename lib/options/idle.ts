/** Options that have no effect beside others: rules that stand in the tables, and what is said of an option that is given all the same. */
import { assert, WeirError } from '../errors.js'
import { type AnyOption, type Condition, type IdleRule, keyOf, type Value } from './option.js'

/** Why an option has no effect beside others: what those are, and what to set so that it has one. */
export interface Idle {
  while: string
  mend: string
}

/** Values by name or by `keyOf`. */
export type Values = Readonly<Record<string, unknown>>

/** How messages call an option. Default: by its name. */
type Naming = (option: AnyOption) => string

const BY_NAME: Naming = ({ name }) => name

/** The options of the table that are given and have no effect, each with the reason and the way to mend it. */
export function idleOptions(
  options: readonly AnyOption[],
  given: Values,
  nameOf: Naming = BY_NAME,
): { name: string; message: string }[] {
  return options.flatMap(option => {
    const rule = valueIn(given, option) === undefined ? undefined : idleRule(option, options, given)
    return rule === undefined
      ? []
      : [{ name: option.name, message: messageOf(nameOf(option), rule, { options, given, nameOf }) }]
  })
}

/** Throws WEIR_BAD_ARGUMENT for an option that is given and has no effect beside the others. @param topic first word of the message */
export function checkIdleOptions(
  topic: string,
  options: readonly AnyOption[],
  given: Values,
  nameOf?: Naming,
): void {
  const [first] = idleOptions(options, given, nameOf)
  if (first !== undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${first.message}`)
}

/** When the option has no effect, for help: `not while collect is probe, or beside wAi`, `only while move is idle`; empty: it always has. */
export function idleWords(
  option: AnyOption,
  options: readonly AnyOption[],
  nameOf: Naming = BY_NAME,
): string {
  const around: Around = { options, given: null, nameOf }
  const not: string[] = []
  const only: string[] = []
  for (const rule of option.idle ?? []) {
    const [[other = '', condition] = [], ...more] = Object.entries(rule.while)
    const name = nameIn(around, other)
    if (isPresence(condition)) not.push(`${condition.given ? 'beside' : 'without'} ${name}`)
    else if (more.length === 0 && typeof condition === 'object' && 'not' in condition)
      only.push(`only while ${name} is ${condition.not}`)
    else not.push(`while ${reasonOf(rule, around)}`)
  }
  return [...(not.length > 0 ? [`not ${not.join(', or ')}`] : []), ...only].join('; ')
}

/** True if the option has no effect beside these values. */
export function isIdle(option: AnyOption, options: readonly AnyOption[], values: Values): boolean {
  return idleRule(option, options, values) !== undefined
}

/** A flag that is false asks for nothing. Neither does the default of a command's option, but beside another one that stands for it. */
function idleRule(option: AnyOption, options: readonly AnyOption[], values: Values): IdleRule | undefined {
  const { kind, idle = [] } = option
  const value = valueIn(values, option)
  if (kind === 'flag' && Number(value ?? 1) === 0) return undefined
  const isDefault = option.command !== undefined && isStandard(option, value)
  return idle.find(
    rule => !(isDefault && !Object.values(rule.while).some(isPresence)) && holds(rule, options, values),
  )
}

function isStandard({ default: standard }: AnyOption, value: unknown): boolean {
  return value !== undefined && value !== null && standard !== null && isSame(value, standard as Value)
}

/** The reason and the way to mend it, for messages. */
export function idleText(name: string, idle: Idle): string {
  return `${name} has no effect while ${idle.while}: leave it out, or set ${idle.mend}`
}

/**
 * What has to be given beside the option since the default of another one takes its effect away; as a rule nothing. Options of which nothing can
 * be said so, because a rule has several conditions, are left out.
 */
export function neededBeside(
  options: readonly AnyOption[],
  { idle = [] }: AnyOption,
): Record<string, boolean> {
  const needed = idle.flatMap(({ while: conditions }): [string, boolean][] => {
    const [[name = '', is] = [], ...more] = Object.entries(conditions)
    if (typeof is !== 'boolean' || more.length > 0) return []
    return options.find(option => option.name === name)?.default === is ? [[name, !is]] : []
  })
  return Object.fromEntries(needed)
}

function holds({ while: conditions }: IdleRule, options: readonly AnyOption[], given: Values): boolean {
  return Object.entries(conditions).every(([name, condition]) => {
    const option = options.find(one => one.name === name)!
    const value = valueIn(given, option)
    if (isPresence(condition)) return (value !== undefined) === condition.given
    return meets(condition, value ?? option.default)
  })
}

function isPresence(condition?: Condition): condition is { given: boolean } {
  return typeof condition === 'object' && 'given' in condition
}

function meets(condition: Exclude<Condition, { given: boolean }>, value: unknown): boolean {
  if (value === null || value === undefined) return false
  if (typeof condition !== 'object') return isSame(value, condition)
  return 'above' in condition ? Number(value) > condition.above : !isSame(value, condition.not)
}

/** true and false are 1 and 0 where options travel between hosts. */
function isSame(value: unknown, wanted: Value): boolean {
  return typeof wanted === 'boolean' ? Number(value) === Number(wanted) : value === wanted
}

function valueIn(values: Values, option: AnyOption): unknown {
  return values[keyOf(option)] ?? values[option.name]
}

/** What a condition is said in. */
interface Around {
  options: readonly AnyOption[]
  /** Null: it is said of all values that it holds for. */
  given: Values | null
  nameOf: Naming
}

function messageOf(name: string, rule: IdleRule, around: Around): string {
  const [[other = '', condition] = []] = Object.entries(rule.while)
  const otherName = nameIn(around, other)
  if (isPresence(condition)) {
    return condition.given
      ? `${name} has no effect beside ${otherName}: leave one of them out`
      : `${name} has no effect without ${otherName}: leave it out, or give ${otherName} too`
  }
  assert(rule.mend !== undefined || typeof condition === 'boolean', 'only a flag can be turned round')
  return idleText(name, {
    while: reasonOf(rule, around),
    mend: rule.mend === undefined ? `${otherName} to ${!condition}` : called(rule.mend, around),
  })
}

function reasonOf(rule: IdleRule, around: Around): string {
  return (
    rule.why ??
    Object.entries(rule.while)
      .map(one => conditionText(one, around))
      .join(' and ')
  )
}

function conditionText([name, condition]: [string, Condition], { options, given, nameOf }: Around): string {
  const option = options.find(one => one.name === name)!
  const called = nameOf(option)
  if (typeof condition === 'object' && 'above' in condition) return `${called} is above ${condition.above}`
  if (typeof condition !== 'object') return `${called} is ${condition}`
  if (given === null && 'not' in condition) return `${called} is not ${condition.not}`
  return `${called} is ${valueIn(given ?? {}, option) ?? option.default}`
}

/** A text in which options stand by name before "to" or "above", as users call them. */
function called(text: string, { options, nameOf }: Around): string {
  return text.replace(/(\w+)(?= (?:to|above) )/g, name => {
    const option = options.find(one => one.name === name)
    return option === undefined ? name : nameOf(option)
  })
}

function nameIn({ options, nameOf }: Around, name: string): string {
  return nameOf(options.find(one => one.name === name)!)
}
