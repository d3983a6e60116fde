/** Resolves the features of a switch by the options that the catalogue of switch-emu/core lists. */
import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import type { FeatureEntry } from '../../../switch-emu/core/feature/feature-entry.js'
import { keyOf, type MappingKind, type Option } from '../../options/option.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { FeatureSettings, Scenario } from '../model/scenario.js'
import { checkShape } from '../schema/check-shape.js'
import { featureSchema, featuresWithin } from '../schema/features.js'
import { mappingOf } from '../schema/option-keys.js'
import { resolveOptions } from './resolve-options.js'

type Found = Record<string, FeatureSettings | FeatureSettings[]>

/**
 * Resolves the features that lib/scenario knows only from the catalogue. Returns them by name, or undefined
 * if there are none.
 *
 * @param given the switch in the file
 * @param checked names of features that are resolved elsewhere
 */
export function resolveFeatures(
  problems: Problems,
  path: DocumentPath,
  given: Readonly<Record<string, unknown>>,
  checked: readonly string[],
): Found | undefined {
  const found: Found = {}
  const collect = (mapping: Readonly<Record<string, unknown>>, at: DocumentPath, parent?: string) => {
    for (const entry of featuresWithin(parent)) {
      const { name } = entry
      const value = mapping[name]
      if (value === undefined || isOff(entry, value)) continue
      const settings = checked.includes(name) ? null : resolveValue(problems, [...at, name], entry, value)
      if (settings !== null) found[name] = settings
      if (isMapping(value)) collect(value, [...at, name], name)
    }
  }
  collect(given, path)
  return Object.keys(found).length > 0 ? found : undefined
}

/** Reports options of features that contradict each other on the links that their switch has. */
export function checkFeatureLinks(
  problems: Problems,
  { switches, links }: Pick<Scenario, 'switches' | 'links'>,
): void {
  for (const { name, features = {} } of switches) {
    const rates = links.filter(({ a, b }) => a.node === name || b.node === name).map(({ rateBps }) => rateBps)
    if (rates.length === 0) continue
    for (const entry of featureEntries()) {
      const settings = features[entry.name]
      if (settings === undefined || entry.checkLinks === undefined) continue
      const path = ['switches', name, ...(entry.within === undefined ? [] : [entry.within]), entry.name]
      for (const { option, wrong } of entry.checkLinks(settings as never, rates))
        problems.atKey([...path, option], `${name}: ${wrong}`)
    }
  }
}

/** Takes a mapping, or a list of mappings where the catalogue allows it. */
function resolveValue(
  problems: Problems,
  path: DocumentPath,
  { name, several = false }: FeatureEntry,
  value: unknown,
): FeatureSettings | FeatureSettings[] | null {
  const resolve = (item: unknown, at: DocumentPath) =>
    resolveFeature<FeatureSettings>(problems, at, name, item)
  if (!several || !Array.isArray(value)) return resolve(value, path)
  return value.map((item, i) => resolve(item, [...path, i])).filter(settings => settings !== null)
}

/** YAML 1.2 reads `off` as a string. */
function isOff({ mayBeOff = false }: FeatureEntry, value: unknown): boolean {
  return mayBeOff && (value === 'off' || value === false)
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the options of one feature as its class takes them, with all defaults, and without the options of
 * nested features. Returns null if a required one is missing.
 *
 * @param what name of the mapping in messages. Default: its title
 */
export function resolveFeature<T>(
  problems: Problems,
  path: DocumentPath,
  name: string,
  value: unknown,
  what?: string,
): T | null {
  const entry = featureEntries().find(one => one.name === name)!
  const { options = [], check } = entry
  const shape = checkShape(problems, path, featureSchema(entry), value, what ?? entry.title ?? name)
  if (shape === null) return null
  const found = valuesOf(problems, path, options ?? [], shape)
  for (const { option, wrong } of check?.(found as never) ?? []) problems.at([...path, option], wrong)
  return isComplete(entry, found) ? (found as T) : null
}

/** Returns the given values and the defaults, by `keyOf`. */
function valuesOf(
  problems: Problems,
  path: DocumentPath,
  options: readonly Option[],
  shape: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given: Record<string, unknown> = resolveOptions(problems, path, options, shape)
  const found: Record<string, unknown> = {}
  for (const option of options) {
    const key = keyOf(option)
    const isMapping = option.kind === 'mapping' && given[key] !== undefined
    const value = isMapping
      ? mappingValue(problems, [...path, option.name], option, given[key])
      : (given[key] ?? option.default)
    if (value !== undefined && value !== null) found[key] = value
  }
  return found
}

function mappingValue(
  problems: Problems,
  path: DocumentPath,
  option: Extract<Option, MappingKind>,
  given: unknown,
): unknown {
  const shape = checkShape(problems, path, mappingOf(option), given, `a ${option.name}`)
  return shape === null ? undefined : valuesOf(problems, path, option.options, shape)
}

/** Returns false if a required option was missing or wrong, which has been reported already. */
function isComplete({ options }: FeatureEntry, found: Readonly<Record<string, unknown>>): boolean {
  return (options ?? []).every(option => option.usual !== undefined || found[keyOf(option)] !== undefined)
}
