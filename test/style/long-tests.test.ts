/** The long tests run what a file leaves to them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const folder = join(repositoryRoot, 'test')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file =>
  file.endsWith('.test.ts'),
)

t.test('a file with long tests has one beside it that imports it', async t => {
  for (const file of files.filter(file => !file.endsWith('.long.test.ts'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    if (!/^import .*support\/long\.js'$/m.test(text)) continue
    const partner = join(folder, file.replace(/\.test\.ts$/, '.long.test.ts'))
    const name = file.split('/').at(-1)!.replace(/\.ts$/, '.js')
    t.ok(existsSync(partner) && readFileSync(partner, 'utf8').includes(`import './${name}'`), file)
  }
})
