import { scenarioJsonSchema } from './json-schema.js'
import { scenarioReference } from './reference.js'

/** What the package has of the scenario file's schema, by path from its root. */
export function generatedFiles(): Record<string, string> {
  return {
    'docs/scenario-reference.md': scenarioReference(),
    'schema/scenario.schema.json': `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`,
  }
}
