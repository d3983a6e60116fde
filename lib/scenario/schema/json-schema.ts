/** The scenario file as JSON Schema (draft 2020-12), for editors. */
import * as z from 'zod'
import type { KeyDoc, MappingDoc } from './keys.js'
import { scenarioSchema } from './scenario.js'
import type { FieldForm } from './value-field.js'

/** What a zod schema says about a value in any of its roles. */
type Meta = Partial<FieldForm & KeyDoc & MappingDoc>

/** Members that only the reference page uses. */
const OURS = ['words', 'json', 'usual', 'example', 'with', 'about'] as const satisfies (keyof Meta)[]

/**
 * Returns the JSON Schema of scenario files. It accepts every file that `parseScenario` accepts. It includes
 * the conditions between keys that JSON Schema can express. Others, such as names that exist and ranges of
 * quantities with units, are checked by `parseScenario` alone.
 */
export function scenarioJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(scenarioSchema, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) =>
      describe(jsonSchema as Record<string, unknown>, z.globalRegistry.get(zodSchema)),
  })
  return { ...schema, title: 'Weir scenario' }
}

function describe(json: Record<string, unknown>, meta: Meta | undefined): void {
  if (meta === undefined) return
  for (const key of OURS) delete json[key]
  Object.assign(json, meta.json)
  if (meta.description !== undefined) json.description = described(meta)
  if (meta.default !== undefined) json.default = meta.default
  if (meta.example !== undefined) json.examples = [meta.example]
}

/** Editors show this beside a key. */
function described({ description, words, usual }: Meta): string {
  const form = words === undefined ? '' : ` Value: ${words}.`
  const without = usual === undefined ? '' : ` Default: ${usual}.`
  return `${description}${form}${without}`.replaceAll('`', '')
}
