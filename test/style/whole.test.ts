/** Every test file is run: by test:long, by itself, or with its folder. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'
import { testFiles } from '../support/test-files.js'

const TESTS = join(repositoryRoot, 'dist/test')

t.test('every test file is run once', async t => {
  const { scripts, tap } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'))
  t.same(tap.include, ['dist/test/suite.test.js'])
  t.match(scripts['test:long'], '--test-arg=--long')
  const { processes, withFolder, long } = testFiles(TESTS)
  const files = readdirSync(join(repositoryRoot, 'test'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.ts'))
    .map(file => file.replace(/\.ts$/, '.js'))
  t.ok(files.length > 200, `${files.length} files were found`)
  t.same([...processes, ...withFolder, ...long, 'suite.test.js'].sort(), files.sort())
  t.ok(long.length > 20 && long.every(file => file.endsWith('.long.test.js')), 'those of test:long')
})

t.test('a compiled file without its source is no test', async t => {
  const folder = t.testdir({ dist: { 'a.test.js': '', 'b.test.js': '' }, test: { 'a.test.ts': '' } })
  t.same(testFiles(join(folder, 'dist'), join(folder, 'test')).processes, ['a.test.js'])
})

t.test('a folder with all.test.ts loads its other files', async t => {
  const { processes, withFolder } = testFiles(TESTS)
  for (const all of processes.filter(file => file.endsWith('all.test.js'))) {
    t.match(readFileSync(join(TESTS, all), 'utf8'), 'wholeFolder(import.meta.dirname)', all)
  }
  t.ok(withFolder.includes('qp/sweep.test.js'))
  t.ok(processes.includes('cli/help.test.js'))
})

// Only the suite sets the variable: tap itself, which runs files that are named, loads its modules into them.
const noSuite = process.env.WEIR_TEST_SUITE === undefined && 'not started by suite.test.ts'

t.test('the suite starts files without modules of tap', { skip: noSuite }, async t => {
  t.notMatch(process.env.NODE_OPTIONS ?? '', /tap/)
  t.same(process.execArgv, [])
})
