import { controllersPage } from '../../cc/controllers-page.js'
import { scenarioJsonSchema } from './json-schema.js'
import { scenarioReference } from './reference.js'

/** Returns the files of the package that are generated from the schema and the catalogue of controllers, by path from the package's root. */
export function generatedFiles(): Record<string, string> {
  return {
    'docs/controllers/README.md': controllersPage(),
    'docs/scenario-reference.md': scenarioReference(),
    'schema/scenario.schema.json': `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`,
  }
}
