/** Keys of a scenario file from any table of options. */
import * as z from 'zod'
import { idleWords } from '../../options/idle.js'
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
  return Object.fromEntries(
    options.map(option => [option.name, keyOfOption(option, { ...docOf(option, options), ...more(option) })]),
  )
}

function keyOfOption(option: Option, doc: KeyDoc): z.ZodType {
  const isRequired = doc.default === undefined && doc.usual === undefined
  if (option.kind === 'mapping') {
    return isRequired ? requiredPart(mappingOf(option), doc) : part(mappingOf(option), doc)
  }
  const field = option.kind === 'priorities' ? prioritiesField : valueField(option)
  return isRequired ? requiredKey(field, doc) : key(field, doc)
}

/** What stands in the file has priority over the default where both are said: `usual` is of files. */
function docOf(option: Option, table: readonly Option[]): KeyDoc {
  const { doc, source, usual, with: others, default: standard = null } = option
  const written = standard === null ? undefined : writtenOf(option as ValueOption, standard)
  const idle = idleWords(option, table)
  const without = usual === undefined ? { ...(written !== undefined && { default: written }) } : { usual }
  return {
    description: [sentence(doc), source && `(${source})`, idle && sentence(idle)].filter(Boolean).join(' '),
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
