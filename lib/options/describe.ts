/** Options for `--help`, a line each. */
import type { ValueOption } from './option.js'
import { helpRange, textOf } from './value.js'

/** `margin=0 to 1, default 0.1: a flow moves only if …`. */
export function describeOption(option: ValueOption): string {
  const { name, doc, source, default: standard = null } = option
  const usual = standard === null ? '' : `, default ${textOf(option, standard)}`
  return `${name}=${helpRange(option)}${usual}: ${doc}${source === undefined ? '' : ` (${source})`}`
}
