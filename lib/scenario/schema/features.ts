/** Keys of a switch for its features, from the options that the catalogue of switch-emu/core names. */
import * as z from 'zod'
import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import type { FeatureEntry, FeatureOption } from '../../../switch-emu/core/feature/feature-entry.js'
import * as f from './fields.js'
import { key, mapping, part, requiredKey, requiredPart } from './keys.js'

const prioritiesField = z.array(f.whole(0, 7)).min(1).meta({ words: 'list of priorities, 0 to 7' })

type Shape = Record<string, z.ZodType>

/** The features whose keys stand in the mapping of another one, or of the switch itself. */
export function featuresWithin(parent?: string): readonly FeatureEntry[] {
  return featureEntries().filter(({ within, options }) => within === parent && options !== null)
}

/** The keys of those features. */
export function featureKeys(parent?: string): Shape {
  return Object.fromEntries(featuresWithin(parent).map(entry => [entry.name, featureKey(entry)]))
}

/** The mapping of a feature's options, with the keys of the features within it. */
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

function optionKeys(options: readonly FeatureOption[]): Shape {
  return Object.fromEntries(options.map(option => [option.name, keyOf(option)]))
}

function keyOf(option: FeatureOption): z.ZodType {
  const { doc: description, example, usual, default: standard, with: others } = option
  const doc = { description, example, ...(others && { with: others }) }
  const field = optionField(option)
  const isMapping = option.kind === 'mapping'
  if (standard === undefined && usual === undefined) {
    return isMapping ? requiredPart(field, doc) : requiredKey(field, doc)
  }
  const without = standard === undefined ? { usual } : { default: standard }
  return isMapping ? part(field, { ...doc, ...without }) : key(field, { ...doc, ...without })
}

/** Checks the value of an option, and makes it what the class gets. */
export function optionField(option: FeatureOption): z.ZodType {
  switch (option.kind) {
    case 'bytes':
      return option.min === 1 ? f.positiveBytes : f.bytes
    case 'time':
      return f.positiveDuration
    case 'share':
      return f.fraction
    case 'number':
      return f.between(option.min, option.max)
    case 'count':
      return f.whole(option.min, option.max)
    case 'choice':
      return f.oneOf(option.choices)
    case 'flag':
      return f.yesNo
    case 'priorities':
      return prioritiesField
    default:
      return mappingSchema(option)
  }
}

/** The mapping that an option is. */
export function mappingSchema({ name, options }: Extract<FeatureOption, { kind: 'mapping' }>) {
  return mapping({ title: name }, optionKeys(options))
}
