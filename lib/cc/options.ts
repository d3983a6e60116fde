/** Options of controllers: numbers, and flags, which are 0 and 1 where options travel between hosts. */
import { WeirError } from '../errors.js'
import { checkFlag, checkNumber } from '../options/check-options.js'
import type { FlagKind, NumberKind, ValueOption } from '../options/option.js'

/** An option of a controller. A default of null: it is worked out from the connection, as `doc` says. */
export type OptionSpec = Extract<ValueOption, NumberKind | FlagKind>

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
): number {
  const spec = specOf(controller, specs, name)
  const value = values[name]
  if (value === undefined) return Number(spec.default ?? Number.NaN)
  return checkNumber(controller, spec, value)
}

/** The same for an option that is true or false. 0 and 1 are accepted: that is how options travel between hosts. */
export function optionFlag(
  controller: string,
  specs: readonly OptionSpec[],
  values: OptionValues,
  name: string,
): boolean {
  const spec = specOf(controller, specs, name)
  return checkFlag(controller, spec, values[name] ?? spec.default ?? false)
}

function specOf(controller: string, specs: readonly OptionSpec[], name: string): OptionSpec {
  const spec = specs.find(s => s.name === name)
  if (spec === undefined) throw new WeirError('WEIR_INTERNAL', `${controller} has no option ${name}`)
  return spec
}

/** What follows from options alone: worked out once for all connections that have the same ones. */
export class ByOptions<T> {
  readonly #workOut: (controller: string, specs: readonly OptionSpec[], values: OptionValues) => T
  readonly #known = new WeakMap<OptionValues, { specs: readonly OptionSpec[]; worked: T }>()

  /** @param workOut throws WEIR_BAD_ARGUMENT for a value out of range */
  constructor(workOut: (controller: string, specs: readonly OptionSpec[], values: OptionValues) => T) {
    this.#workOut = workOut
  }

  /** As `workOut`. Nobody may change what it returns. @param controller its name, for messages */
  of(controller: string, specs: readonly OptionSpec[], values: OptionValues): T {
    const known = this.#known.get(values)
    if (known?.specs === specs) return known.worked
    const worked = this.#workOut(controller, specs, values)
    this.#known.set(values, { specs, worked })
    return worked
  }
}
