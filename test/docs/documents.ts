/**
 * Every example in README.md, docs/ and bench/scenarios/README.md runs. HACKING.md says how documents mark them.
 * `node dist/test/docs/documents.long.test.js docs/labs.md` runs those of one document.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'
import { placeOf } from './examples.js'
import { runDocuments } from './run-documents.js'

/** Examples of a test that are not run, at most. A document whose examples cannot be tried becomes wrong. */
const NOT_RUN_MAX = 12

/** Tests the examples of these documents, or of those that the command line names. */
export function testDocuments(documents: readonly string[]): void {
  t.setTimeout(1_200_000)

  t.test('documents', async t => {
    const chosen = process.argv.slice(2)
    const names = chosen.length > 0 ? chosen : documents
    const sources = names.map(name => ({ name, markdown: readFileSync(join(repositoryRoot, name), 'utf8') }))
    const notRun = await runDocuments(t, sources)
    for (const example of notRun) t.comment(`not run: ${placeOf(example)}: ${example.marker.notRun}`)
    t.ok(notRun.length <= NOT_RUN_MAX, `${notRun.length} examples are not run, ${NOT_RUN_MAX} at most`)
  })
}
