/** Options of a command from a table: registers them and returns their values. */
import { type Command, Option } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { idleOptions, idleWords } from '../../lib/options/idle.js'
import {
  type AnyOption,
  type CommandOption,
  flagOf,
  keyOf,
  type SettingsOf,
  type ValueOption,
} from '../../lib/options/option.js'
import { parseValue } from '../../lib/options/parse-options.js'
import { helpRange, textOf } from '../../lib/options/value.js'

/** Those of a table that commands have. */
export function commandOptions(table: readonly ValueOption[]): CommandOption[] {
  return table.filter((option): option is ValueOption & CommandOption => option.command !== undefined)
}

/** Registers each with its range, its default, and what of the table it does not go with. @param table default: the options themselves */
export function addValueOptions(
  command: Command,
  options: readonly CommandOption[],
  table = options,
): Command {
  for (const option of options) command.addOption(optionOf(option, table))
  return command
}

/**
 * The values that are given or have a default, by `keyOf`. Throws WEIR_BAD_ARGUMENT, which names the option: for a value that it cannot have,
 * and for one without effect beside the others.
 * @param command tells what came from the environment or from a file
 */
export function valuesOf<const Table extends readonly CommandOption[]>(
  table: Table,
  flags: object,
  command?: Pick<Command, 'getOptionValueSource'>,
): Partial<SettingsOf<Table>> {
  const texts = flags as Texts
  const sourceOf = (option: AnyOption): string => {
    const { flag, env } = option.command!
    const source = command?.getOptionValueSource(attributeOf(flag))
    if (source === 'env') return env!
    return source === undefined || BY_COMMANDER.has(source) ? flagOf(option) : source
  }
  const given: Record<string, unknown> = {}
  const defaults: Record<string, unknown> = {}
  for (const option of table) {
    const typed = typedOf(option, texts)
    if (typed !== undefined) given[keyOf(option)] = readTyped(sourceOf(option), option, typed)
    const standard = defaultOf(option)
    if (standard !== undefined) defaults[keyOf(option)] = standard
  }
  const [idle] = idleOptions(table, given, sourceOf)
  if (idle !== undefined) throw new WeirError('WEIR_BAD_ARGUMENT', idle.message)
  return { ...defaults, ...given } as Partial<SettingsOf<Table>>
}

/** Sources of a value that commander knows by itself. Others are places in a file (`daemon-config.ts`). */
export const BY_COMMANDER: ReadonlySet<string> = new Set(['default', 'config', 'env', 'cli', 'implied'])

/** The rows of options that commander has. */
const rows = new WeakMap<Option, CommandOption>()

/** The row that a command's option was made of. Undefined for one that is in no table. */
export function rowOf(option: Option): CommandOption | undefined {
  return rows.get(option)
}

/** The value that holds without the option, as a command line would give it. Undefined: none, or words say it. */
export function defaultTextOf(row: CommandOption): string | undefined {
  const standard = defaultOf(row)
  return standard === undefined || row.kind === 'flag' ? undefined : textOf(row, standard)
}

/** What commander has of an option: the text behind it, or that it was there. */
type Typed = string | boolean | readonly string[]

type Texts = Readonly<Record<string, Typed | undefined>>

function typedOf({ command }: CommandOption, texts: Texts): Typed | undefined {
  return texts[attributeOf(command.flag)]
}

function attributeOf(flag: string): string {
  return new Option(flag).attributeName()
}

function readTyped(flag: string, option: CommandOption, typed: Typed): unknown {
  if (typeof typed === 'object') return typed.map(text => readTyped(flag, option, text))
  if (typeof typed === 'boolean' || option.kind === 'text') return typed
  return parseValue(flag, option, typed)
}

function optionOf(option: CommandOption, table: readonly CommandOption[]): Option {
  const { flag, env, several } = option.command
  const made = new Option(flag, [option.doc, restOf(option, table)].filter(Boolean).join(' '))
  rows.set(made, option)
  if (env !== undefined) made.env(env)
  return several ? made.argParser((text: string, before: string[] = []) => [...before, text]) : made
}

/** `(0 to 7, default: 0; not without --pcap)`. */
function restOf(option: CommandOption, table: readonly CommandOption[]): string {
  const { usual, several, env } = option.command
  const standard = defaultOf(option)
  const values = [
    option.kind === 'text' || option.kind === 'flag' ? '' : helpRange(option).replaceAll('|', ', '),
    standard === undefined || option.kind === 'flag' ? '' : `default: ${textOf(option, standard)}`,
    standard === undefined && usual !== undefined ? `default: ${usual}` : '',
  ]
  const parts = [
    values.filter(Boolean).join(option.kind === 'choice' ? '; ' : ', '),
    several ? 'repeatable' : '',
    idleWords(option, table, flagOf),
    env === undefined ? '' : `environment: ${env}`,
  ]
  const text = parts.filter(Boolean).join('; ')
  return text === '' ? '' : `(${text})`
}

function defaultOf(option: CommandOption): unknown {
  const { default: own, usual } = option.command
  return own ?? (usual === undefined ? option.default : undefined) ?? undefined
}
