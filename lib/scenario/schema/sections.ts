/** The mappings of a scenario file, as its schema nests them. */
import * as z from 'zod'
import type { KeyDoc, MappingDoc } from './keys.js'
import { scenarioSchema } from './scenario.js'
import type { FieldForm } from './value-field.js'

/** A key of a mapping with its documentation. */
export interface Key extends KeyDoc, Pick<FieldForm, 'words'> {
  name: string
  required: boolean
}

/** A mapping and where it stands. */
export interface Section extends MappingDoc {
  /** Its path, such as `switches.NAME.pfc`. Empty at the root. */
  path: string
  keys: Key[]
  /** The key that leads to it. Absent at the root. */
  parent?: { section: Section; key: Key }
  /** Whether the key's value is the mapping, a list of mappings, or a mapping from names to mappings. */
  within: 'key' | 'list' | 'names'
}

/** Returns each mapping once, from the root on. Nested mappings follow directly. */
export function scenarioSections(): Section[] {
  const found: Section[] = []
  collect(scenarioSchema, { path: '', within: 'key' }, found, new Set())
  return found
}

type Place = Pick<Section, 'path' | 'within' | 'parent'>

function collect(schema: z.ZodType, place: Place, found: Section[], seen: Set<unknown>): void {
  if (schema instanceof z.ZodOptional) collect(schema.unwrap() as z.ZodType, place, found, seen)
  else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) collect(option as z.ZodType, place, found, seen)
  } else if (schema instanceof z.ZodArray) {
    const items: Place = { ...place, path: `${place.path}[]`, within: 'list' }
    collect(schema.element as z.ZodType, items, found, seen)
  } else if (schema instanceof z.ZodRecord) {
    const named: Place = { ...place, path: `${place.path}.NAME`, within: 'names' }
    collect(schema.valueType as z.ZodType, named, found, seen)
  } else if (schema instanceof z.ZodObject && !seen.has(schema)) {
    seen.add(schema)
    const { title = '', about, json } = schema.meta() as unknown as MappingDoc
    const section: Section = { ...place, title, about, json, keys: [] }
    found.push(section)
    for (const [name, value] of Object.entries(schema.shape)) {
      const key = keyOf(name, value as z.ZodType)
      section.keys.push(key)
      const path = place.path === '' ? name : `${place.path}.${name}`
      collect(value as z.ZodType, { path, within: 'key', parent: { section, key } }, found, seen)
    }
  }
}

function keyOf(name: string, schema: z.ZodType): Key {
  const required = !(schema instanceof z.ZodOptional)
  const inner = required ? schema : (schema.unwrap() as z.ZodType)
  const { words = 'mapping', ...doc } = (inner.meta() ?? {}) as unknown as KeyDoc & Partial<FieldForm>
  return { ...doc, name, words, required }
}
