/**
 * Every example in README.md, docs/ and bench/scenarios/README.md runs. HACKING.md says how documents mark them.
 * `node dist/test/docs/documents.test.js docs/labs.md` runs those of one document.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'
import { placeOf } from './examples.js'
import { runDocuments } from './run-documents.js'

/** Examples that are not run, in all documents together: a document that cannot be tried is one that gets wrong. */
const NOT_RUN_MAX = 12

t.setTimeout(1_200_000)

t.test('documents', async t => {
  const folder = join(repositoryRoot, 'docs')
  const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const pages = docs.filter(name => name.endsWith('.md')).map(name => join('docs', name))
  const chosen = process.argv.slice(2)
  const names = chosen.length > 0 ? chosen : ['README.md', ...pages.sort(), 'bench/scenarios/README.md']
  const sources = names.map(name => ({ name, markdown: readFileSync(join(repositoryRoot, name), 'utf8') }))
  const notRun = await runDocuments(t, sources)
  for (const example of notRun) t.comment(`not run: ${placeOf(example)}: ${example.marker.notRun}`)
  t.ok(notRun.length <= NOT_RUN_MAX, `${notRun.length} examples are not run, ${NOT_RUN_MAX} at most`)
})
