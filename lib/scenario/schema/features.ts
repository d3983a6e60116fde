/** Keys of a switch for its features, from the options that the catalogue of switch-emu/core lists. */
import * as z from 'zod'
import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import type { FeatureEntry } from '../../../switch-emu/core/feature/feature-entry.js'
import { mapping, part } from './keys.js'
import { optionKeys } from './option-keys.js'

type Shape = Record<string, z.ZodType>

/** Returns the features whose keys are in the mapping of `parent`, or in that of the switch. */
export function featuresWithin(parent?: string): readonly FeatureEntry[] {
  return featureEntries().filter(({ within, options }) => within === parent && options !== null)
}

/** Returns the keys of those features. */
export function featureKeys(parent?: string): Shape {
  return Object.fromEntries(featuresWithin(parent).map(entry => [entry.name, featureKey(entry)]))
}

/** Returns the schema of a feature's options, with the keys of nested features. */
export function featureSchema(entry: FeatureEntry) {
  const { name, title = name, about, json, options } = entry
  const doc = { title, ...(about !== undefined && { about }), ...(json && { json }) }
  return mapping(doc, { ...optionKeys(options ?? []), ...featureKeys(name) })
}

function featureKey(entry: FeatureEntry): z.ZodType {
  const { doc: description, example, usual, default: standard, with: others } = entry
  return part(valueSchema(entry), {
    description,
    example,
    ...(standard === undefined ? { usual: usual ?? 'the feature is off' } : { default: standard }),
    ...(others && { with: others }),
  })
}

function valueSchema(entry: FeatureEntry): z.ZodType {
  const schema = featureSchema(entry)
  if (entry.several) {
    return z.union([schema, z.array(schema)]).meta({ words: 'mapping, or list of mappings' })
  }
  if (!entry.mayBeOff) return schema
  return z.union([schema, z.literal('off'), z.literal(false)]).meta({ words: 'mapping, or `off`' })
}
