import { WeirError } from '../../lib/errors.js'

/** The value of an option that takes one of `names`, undefined where it is left out. Throws WEIR_BAD_ARGUMENT with the option's name. */
export function oneOf<Name extends string>(
  option: string,
  value: string | undefined,
  ...names: readonly Name[]
): Name | undefined {
  const found = names.find(name => name === value)
  if (found !== undefined || value === undefined) return found
  throw new WeirError('WEIR_BAD_ARGUMENT', `${option} takes ${names.join(' or ')}, not "${value}"`)
}
