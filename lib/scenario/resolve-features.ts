/** Features of a switch in a scenario file, by the options that the catalogue of switch-emu/core names. */
import { featureEntries } from '../../switch-emu/core/catalogue.js'
import {
  type FeatureEntry,
  type FeatureOption,
  optionKey,
} from '../../switch-emu/core/feature/feature-entry.js'
import type { Path, Problems } from './problems.js'
import type { FeatureSettings } from './scenario.js'
import { checkShape } from './schema/check-shape.js'
import { featureSchema, featuresWithin, mappingSchema, optionField } from './schema/features.js'

/** Features of a switch about which lib/scenario knows nothing but the catalogue: `checked` are those that are resolved elsewhere. */
export function resolveFeatures(
  problems: Problems,
  path: Path,
  shape: Readonly<Record<string, unknown>>,
  checked: readonly string[],
): Record<string, FeatureSettings | FeatureSettings[]> | undefined {
  const found: Record<string, FeatureSettings | FeatureSettings[]> = {}
  for (const { name, several = false, mayBeOff = false } of featuresWithin()) {
    const value = shape[name]
    if (checked.includes(name) || value === undefined) continue
    // YAML 1.2 reads `off` as text.
    if (mayBeOff && (value === 'off' || value === false)) continue
    const at = [...path, name]
    const resolve = (item: unknown, place: Path) =>
      resolveFeature<FeatureSettings>(problems, place, name, item)
    const resolved =
      several && Array.isArray(value)
        ? value.map((item, i) => resolve(item, [...at, i])).filter(one => one !== null)
        : resolve(value, at)
    if (resolved !== null) found[name] = resolved
  }
  return Object.keys(found).length > 0 ? found : undefined
}

/**
 * The options of one feature, as its class gets them, with all defaults. Null if one is missing. Keys of features within it are as the
 * file has them.
 *
 * @param what how messages call the mapping; default: its title
 */
export function resolveFeature<T>(
  problems: Problems,
  path: Path,
  name: string,
  value: unknown,
  what?: string,
): T | null {
  const entry = featureEntries().find(one => one.name === name)!
  const { options = [], check } = entry
  const shape = checkShape(problems, path, featureSchema(entry), value, what ?? entry.title ?? name)
  if (shape === null) return null
  const found = valuesOf(problems, path, options ?? [], shape)
  for (const { name: child } of featuresWithin(name))
    if (shape[child] !== undefined) found[child] = shape[child]
  for (const { option, wrong } of check?.(found as never) ?? []) problems.at([...path, option], wrong)
  return isComplete(entry, found) ? (found as T) : null
}

function valuesOf(
  problems: Problems,
  path: Path,
  options: readonly FeatureOption[],
  shape: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const option of options) {
    const given = shape[option.name]
    const value =
      option.kind === 'mapping' && given !== undefined
        ? mappingValue(problems, [...path, option.name], option, given)
        : (given ?? defaultOf(option))
    if (value !== undefined) found[optionKey(option)] = value
  }
  return found
}

function mappingValue(
  problems: Problems,
  path: Path,
  option: Extract<FeatureOption, { kind: 'mapping' }>,
  given: unknown,
): unknown {
  const shape = checkShape(problems, path, mappingSchema(option), given, `a ${option.name}`)
  return shape === null ? undefined : valuesOf(problems, path, option.options, shape)
}

function defaultOf(option: FeatureOption): unknown {
  return option.default === undefined ? undefined : optionField(option).parse(option.default)
}

/** False if a required option was missing or wrong: that is reported already. */
function isComplete({ options }: FeatureEntry, found: Readonly<Record<string, unknown>>): boolean {
  return (options ?? []).every(option => option.usual !== undefined || found[optionKey(option)] !== undefined)
}
