/**
 * Part of `npm run build`: writes the contracts of `proto/` as JSON to `dist/proto`, so that processes need
 * no parser for their text.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import protobuf from 'protobufjs'
import { packageFile } from '../lib/package-file.js'

const root = dirname(packageFile('package.json'))
const folder = join(root, 'dist', 'proto')

mkdirSync(folder, { recursive: true })
for (const file of readdirSync(join(root, 'proto'))) {
  const contract = new protobuf.Root().loadSync(join(root, 'proto', file), { keepCase: false }).resolveAll()
  writeFileSync(join(folder, `${file}.json`), JSON.stringify(contract))
}
