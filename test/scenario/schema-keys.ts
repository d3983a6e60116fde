/** The keys of the scenario file, one by one, and the JSON Schema that is made from them. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { scenarioJsonSchema } from '../../lib/scenario/schema/json-schema.js'
import { type Key, type Section, scenarioSections } from '../../lib/scenario/schema/sections.js'

/** Returns whether the schema accepts a document. `validate.errors` has the reasons if not. */
export const validate = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allErrors: true,
}).compile(scenarioJsonSchema())

export const keys = scenarioSections().flatMap(section => section.keys.map(key => ({ section, key })))

/** The name in documents: `traffic[].size`. */
export function pathOf({ path }: Section, { name }: Key): string {
  return path === '' ? name : `${path}.${name}`
}
