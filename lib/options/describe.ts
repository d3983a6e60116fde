/** Options for `--help`, a line each. */
import { idleWords } from './idle.js'
import type { ValueOption } from './option.js'
import { helpRange, textOf } from './value.js'

/** `margin=0 to 1, default 0.1: a flow moves only if … (draft-02, …); not while move is never`. @param table of the option */
export function describeOption(option: ValueOption, table: readonly ValueOption[]): string {
  const { name, doc, source, default: standard = null } = option
  const usual = standard === null ? '' : `, default ${textOf(option, standard)}`
  const idle = idleWords(option, table)
  const said = `${doc}${source === undefined ? '' : ` (${source})`}${idle === '' ? '' : `; ${idle}`}`
  return `${name}=${helpRange(option)}${usual}: ${said}`
}
