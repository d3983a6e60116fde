/** The keys of the scenario file, one by one, and the JSON Schema that is made from them. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { scenarioJsonSchema } from '../../lib/scenario/schema/json-schema.js'
import { type Key, type Section, scenarioSections } from '../../lib/scenario/schema/sections.js'

/** Says whether the schema takes a document; what it holds against one is in `validate.errors`. */
export const validate = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allErrors: true,
}).compile(scenarioJsonSchema())

export const keys = scenarioSections().flatMap(section => section.keys.map(key => ({ section, key })))

/** As a document names it: `traffic[].size`. */
export function pathOf({ path }: Section, { name }: Key): string {
  return path === '' ? name : `${path}.${name}`
}
