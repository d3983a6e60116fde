/**
 * `npm run docs`: writes the files that are generated from the schema of the scenario file, from the catalogue of controllers and from
 * the options of `weir daemon`. A test compares them with the existing ones.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageFile } from '../lib/package-file.js'
import { generatedFiles } from '../lib/scenario/schema/generated-files.js'
import { daemonCommand } from './commands/daemon.js'
import { CONFIG_SCHEMA_FILE, configJsonSchema } from './commands/daemon-config.js'

const root = dirname(packageFile('package.json'))
const configSchema = { [CONFIG_SCHEMA_FILE]: configJsonSchema(daemonCommand()) }
for (const [path, text] of Object.entries({ ...generatedFiles(), ...configSchema })) {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  process.stdout.write(`${path}\n`)
}
