/**
 * `npm test`: every test file, three at a time, each in a plain process. tap's own runner loads modules for TypeScript,
 * mocks and coverage into each: 1.2 s of CPU, three times what a file needs to start without them.
 */
import { join } from 'node:path'
import t from 'tap'
import { testFiles } from './support/test-files.js'

const JOBS = 3
const FILE_MOST_MS = 600_000

t.jobs = JOBS
for (const name of testFiles(import.meta.dirname).processes) {
  t.spawn(process.execPath, [join(import.meta.dirname, name)], {
    name,
    buffered: true,
    timeout: FILE_MOST_MS,
  })
}
