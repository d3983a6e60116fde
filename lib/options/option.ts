/**
 * What an option is. A table of options stands beside the code that they are for; whoever reads, checks, prints or documents them goes
 * by the table. Numbers are in base units: bytes, bit/s, ns; a share is a number from 0 to 1.
 */
/** The largest value of an option without an upper bound: units are read exactly up to here. */
export const MOST = Number.MAX_SAFE_INTEGER

/** A number, with its bounds, which are inside. `default` null: it is worked out, as `usual` or `doc` says. */
export interface NumberKind {
  kind: 'number' | 'count' | 'share' | 'bytes' | 'time' | 'rate'
  min: number
  max: number
  /** Values within the bounds that have another meaning. */
  except?: readonly number[]
  default?: number | null
}

export interface FlagKind {
  kind: 'flag'
  default?: boolean | null
}

interface ChoiceKind {
  kind: 'choice'
  choices: readonly (string | number)[]
  default?: string | number | null
}

/** A list of priorities, 0 to 7. */
interface PrioritiesKind {
  kind: 'priorities'
  default?: readonly number[] | null
}

/** A mapping with options of its own, in files alone. */
export interface MappingKind {
  kind: 'mapping'
  options: readonly Option[]
  default?: null
}

/** A text of any form, on command lines alone: a path, a name. */
interface TextKind {
  kind: 'text'
  default?: string | null
}

/** What an option takes that is a single value. */
export type ValueKind = NumberKind | FlagKind | ChoiceKind
/** What an option takes. */
type Kind = ValueKind | PrioritiesKind | MappingKind

/** What a value is. */
export type Value = number | boolean | string

/** What another option has to be: this value, another one than `not`, above a number, or given at all, or not given. */
export type Condition = Value | { not: Value } | { above: number } | { given: boolean }

/** An option has no effect while all of these hold of others, by name. Values that are not given are the defaults. */
export interface IdleRule {
  while: Readonly<Record<string, Condition>>
  /** The same in words. Default: from the conditions. */
  why?: string
  /** What to set so that it has an effect, behind "set". Default, where the first condition is of a flag: the flag turned round. */
  mend?: string
}

/** An option as one of a command. */
interface CommandForm {
  /** `--ack-every <packets>`; of a flag or a text that stands alone `--json`. */
  flag: string
  /** It may be given several times; its value is a list. */
  several?: boolean
  /** What holds without it, where that is another value than the option's default. */
  default?: Value
  /** What holds without it, in words, where no value says it. */
  usual?: string
  /** The variable of the environment that stands for it. */
  env?: string
}

interface Said {
  /** As users write it, in files and on command lines: without a unit. */
  name: string
  /** A phrase without a capital and a full stop, for help; or sentences. In brackets SONiC's name, if it has one. */
  doc: string
  /** Draft or RFC and section, where `doc` does not say it. */
  source?: string
  /** A value other than the default, as a file has it. Default: one of the kind. */
  example?: unknown
  /** What holds in a scenario file without it, in words, where the default is none or another one there. */
  usual?: string
  /** Options beside it without which the example is refused. */
  with?: Readonly<Record<string, unknown>>
  /** When it has no effect. A user who gives it then gets an error that says so. */
  idle?: readonly IdleRule[]
  /** How command lines give it, where that is not NAME=VALUE. */
  command?: CommandForm
}

/** An option. Without `default` and `usual` it is required. */
export type Option = Said & Kind
/** An option that is a single value, as all are that command lines can give. */
export type ValueOption = Said & ValueKind

/** An option that a command has by itself, not as NAME=VALUE. */
export type CommandOption = Said & (ValueKind | TextKind) & { command: CommandForm }
/** An option of any table. */
export type AnyOption = Option | CommandOption

/** `--ack-every`, also of one with a short form, as `-c, --count`; the name of an option that is none of a command's own. */
export function flagOf(option: AnyOption): string {
  return option.command?.flag.split(' ').find(word => word.startsWith('--')) ?? option.name
}

/** The name under which programs have the value: with the unit of bytes and ns at its end. */
export function keyOf({ name, kind }: Pick<AnyOption, 'name' | 'kind'>): string {
  if (kind === 'bytes') return name.endsWith('Bytes') ? name : `${name}Bytes`
  return kind === 'time' ? `${name}Ns` : name
}

type KeyOf<O> = O extends { kind: 'bytes'; name: infer N extends string }
  ? N extends `${string}Bytes`
    ? N
    : `${N}Bytes`
  : O extends { kind: 'time'; name: infer N extends string }
    ? `${N}Ns`
    : O extends { name: infer N extends string }
      ? N
      : never

type ValueOf<O> = O extends { command: { several: true } } ? readonly SingleOf<O>[] : SingleOf<O>

type SingleOf<O> = O extends { kind: 'flag' }
  ? boolean
  : O extends { choices: readonly (infer C)[] }
    ? C
    : O extends { kind: 'text' }
      ? string
      : number

/** The settings that a table describes, by `keyOf`. */
export type SettingsOf<Table extends readonly AnyOption[]> = {
  [O in Table[number] as KeyOf<O>]: ValueOf<O>
}

/** True for an option whose value is a number. */
export function isNumber<O extends { kind: string }>(option: O): option is Extract<O, NumberKind> {
  return ['number', 'count', 'share', 'bytes', 'time', 'rate'].includes(option.kind)
}
