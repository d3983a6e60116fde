/** Options of a command from a table: registers them and returns their values. */
import { type Command, Option } from 'commander'
import {
  type CommandForm,
  isNumber,
  keyOf,
  MOST,
  type SettingsOf,
  type ValueOption,
} from '../../lib/options/option.js'
import { parseValue } from '../../lib/options/parse-options.js'
import { helpRange, textOf } from '../../lib/options/value.js'

/** An option that a command has directly, not as NAME=VALUE. */
export type CommandOption = ValueOption & { command: CommandForm }

/** Returns the options of a table that commands have. */
export function commandOptions(table: readonly ValueOption[]): CommandOption[] {
  return table.filter((option): option is CommandOption => option.command !== undefined)
}

/** Registers each option with its range and its default. */
export function addValueOptions(command: Command, table: readonly CommandOption[]): Command {
  for (const option of table) command.addOption(optionOf(option))
  return command
}

/**
 * Returns the values that are given or have a default, by `keyOf`. Throws WEIR_BAD_ARGUMENT with the option's
 * name.
 */
export function valuesOf<const Table extends readonly CommandOption[]>(
  table: Table,
  flags: object,
): Partial<SettingsOf<Table>> {
  const texts = flags as Readonly<Record<string, string | undefined>>
  const entries = table.flatMap(option => {
    const registered = new Option(option.command.flag)
    const text = texts[registered.attributeName()] ?? textOfDefault(option)
    return text === undefined ? [] : [[keyOf(option), parseValue(registered.long!, option, text)]]
  })
  return Object.fromEntries(entries)
}

function optionOf(option: CommandOption): Option {
  const { flag, usual, env } = option.command
  const made = new Option(
    flag,
    [option.doc, rangeOf(option), usual && `(default: ${usual})`].filter(Boolean).join(' '),
  )
  if (option.kind === 'choice' && isNamed(option)) made.choices(option.choices.map(String))
  if (env !== undefined) made.env(env)
  return made.default(textOfDefault(option))
}

/** commander itself lists the choices. */
function rangeOf(option: CommandOption): string {
  if (isNamed(option) || (isNumber(option) && option.max === MOST)) return ''
  return option.kind === 'choice' ? `(${option.choices.join(', ')})` : `(${helpRange(option)})`
}

function isNamed(option: CommandOption): boolean {
  return option.kind === 'choice' && typeof option.choices[0] === 'string'
}

function textOfDefault(option: CommandOption): string | undefined {
  const { default: own, usual } = option.command
  const value = own ?? (usual === undefined ? option.default : undefined) ?? undefined
  return value === undefined ? undefined : textOf(option, value)
}
