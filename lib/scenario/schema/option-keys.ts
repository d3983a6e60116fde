/** Keys of a scenario file from any table of options. */
import * as z from 'zod'
import type { MappingKind, Option, ValueKind, ValueOption } from '../../options/option.js'
import { writtenOf } from '../../options/value.js'
import { type KeyDoc, key, mapping, part, requiredKey, requiredPart } from './keys.js'
import { valueField } from './value-field.js'

type Shape = Record<string, z.ZodType>

/** Examples for options that have none. */
const SAMPLES: Readonly<Record<ValueKind['kind'], unknown>> = {
  number: 1,
  count: 1,
  share: '10%',
  bytes: '64KB',
  rate: '1Gbps',
  time: '10us',
  flag: true,
  choice: '',
}

/**
 * Returns the keys of a mapping, one for each option.
 *
 * @param more what to say about a key in addition to the table
 */
export function optionKeys(
  options: readonly Option[],
  more: (option: Option) => Partial<KeyDoc> = () => ({}),
): Shape {
  return Object.fromEntries(options.map(option => [option.name, keyOfOption(option, more(option))]))
}

function keyOfOption(option: Option, more: Partial<KeyDoc>): z.ZodType {
  const doc = { ...docOf(option), ...more }
  const isRequired = doc.default === undefined && doc.usual === undefined
  if (option.kind === 'mapping') {
    return isRequired ? requiredPart(mappingOf(option), doc) : part(mappingOf(option), doc)
  }
  const field = option.kind === 'priorities' ? prioritiesField : valueField(option)
  return isRequired ? requiredKey(field, doc) : key(field, doc)
}

/** If a table gives both, the default in words for files (`usual`) comes before `default`. */
function docOf(option: Option): KeyDoc {
  const { doc, source, usual, with: others, default: standard = null } = option
  const written = standard === null ? undefined : writtenOf(option as ValueOption, standard)
  const without = usual === undefined ? { ...(written !== undefined && { default: written }) } : { usual }
  return {
    description: source === undefined ? sentence(doc) : `${sentence(doc)} (${source})`,
    ...without,
    example: option.example ?? written ?? SAMPLES[option.kind as ValueKind['kind']],
    ...(others && { with: others }),
  }
}

/** Turns a phrase of a table into a sentence of the reference page. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`
}

const prioritiesField: z.ZodType = z
  .array(valueField({ kind: 'count', min: 0, max: 7 }))
  .min(1)
  .meta({ words: 'list of priorities, 0 to 7' })

/** Returns the schema of an option that is a mapping. */
export function mappingOf({ name, options }: Extract<Option, MappingKind>) {
  return mapping({ title: name }, optionKeys(options))
}
