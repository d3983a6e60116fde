/**
 * `npm test`: every test file, four at a time, each in a plain process. tap's own runner loads modules for TypeScript,
 * mocks and coverage into each: 1.2 s of CPU, three times what a file needs to start without them.
 *
 * Arguments, given to tap as `--test-arg=…`: files by their compiled path, in place of all; `--long`, those of
 * `npm run test:long`; `--jobs=1`, one at a time; `--one-in=2`, half of the files, drawn by a seed that is printed.
 */
import { join, relative, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import t from 'tap'
import { drawnPart } from './support/seeds.js'
import { testFiles } from './support/test-files.js'
import { passTopLevelOn } from './support/top-level.js'

const FOLDER = import.meta.dirname
const FILE_MOST_MS = 600_000

const { values, positionals } = parseArgs({
  options: {
    long: { type: 'boolean' },
    jobs: { type: 'string', default: '4' },
    'one-in': { type: 'string', default: '1' },
  },
  allowPositionals: true,
})
const { processes, long } = testFiles(FOLDER)
const named = positionals.map(file => relative(FOLDER, resolve(file)))
const files = named.length > 0 ? named : values.long ? long : processes

t.jobs = Number(values.jobs)
t.on('spawn', file =>
  file.on('process', process => passTopLevelOn(process, file.parser as unknown as Writable)),
)
// t.spawn adds tap's modules to NODE_OPTIONS: each file and all processes that it starts would load them and record theirs.
const plain = [`NODE_OPTIONS=${process.env.NODE_OPTIONS ?? ''}`, 'WEIR_TEST_SUITE=1', process.execPath]
const oneIn = Number(values['one-in'])
if (!Number.isInteger(oneIn) || oneIn < 1)
  throw new Error(`--one-in=${values['one-in']}: a whole number from 1 on`)
for (const name of oneIn === 1 ? files : drawnPart(t, files, oneIn)) {
  t.spawn('env', [...plain, join(FOLDER, name)], { name, buffered: true, timeout: FILE_MOST_MS })
}
