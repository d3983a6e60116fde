/** The example in README.md does what it says. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { loopbackAddress, scratch } from '../support/daemon-process.js'
import { repositoryRoot } from '../support/fixtures.js'
import { noThreads } from './hosts.js'

t.test('verbs', { skip: noThreads }, async t => {
  const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8')
  const [, example = ''] = /```ts\n(import \{ Access[\s\S]*?)```/.exec(readme) ?? []
  t.match(example, /Host\.open/, 'it is there')
  // Addresses that no other test uses.
  const program = example
    .replace(/'weir(-roce)?'/, `'${new URL('../../lib/index.js', import.meta.url)}'`)
    .replaceAll('127.0.0.4', loopbackAddress())
    .replaceAll('127.0.0.5', loopbackAddress())
  const file = join(await scratch(t), 'example.mjs')
  writeFileSync(file, program)
  const said = /console\.log\(completion[^\n]*\/\/ (.*)/.exec(example)?.[1]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file])
  t.equal(stderr, '')
  t.equal(stdout.trim(), said)
})
