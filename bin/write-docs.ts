/**
 * `npm run docs`: writes the files that are generated from the schema of the scenario file and from the
 * catalogue of controllers. A test compares them with the existing ones.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageFile } from '../lib/package-file.js'
import { generatedFiles } from '../lib/scenario/schema/generated-files.js'

const root = dirname(packageFile('package.json'))
for (const [path, text] of Object.entries(generatedFiles())) {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  process.stdout.write(`${path}\n`)
}
