import { isNumber, type Value, type ValueOption } from '../../lib/options/option.js'

/** A value of the option far from its default, in base units. */
export function otherValue(option: ValueOption): Value {
  if (option.kind === 'flag') return option.default !== true
  if (!isNumber(option)) return option.choices.find(choice => choice !== option.default)!
  const { kind, min, max, default: standard } = option
  const from = standard ?? min
  const far = from === 0 ? Math.min(max, min + 1) : from * 4
  if (far <= max) return far
  return kind === 'count' ? Math.max(min, Math.floor(from / 4)) : Math.max(min, from / 2)
}
