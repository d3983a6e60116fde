/** Every test file is run: by tap itself, with those of its folder, or by test:long. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const TAP = realpathSync(join(repositoryRoot, 'node_modules/.bin/tap'))
const LONG = '.long.test.js'

t.test('every test file is run once', async t => {
  const list = spawnSync(process.execPath, [TAP, 'list'], { cwd: repositoryRoot, encoding: 'utf8' })
  const run = new Set(list.stdout.trim().split('\n'))
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'))
  t.match(scripts['test:long'], `"--include=dist/test/**/*${LONG}"`)
  const files = readdirSync(join(repositoryRoot, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.js'))
    .map(file => join('dist/test', file))
  t.ok(files.length > 200, `${files.length} files were found`)
  for (const file of files) {
    const all = join(dirname(file), 'all.test.js')
    const alone = run.has(file)
    if (file.endsWith(LONG)) {
      t.notOk(alone, `${file} is for test:long`)
      continue
    }
    t.equal(alone || run.has(all), true, `${file} is in none of tap's patterns (package.json)`)
    if (file !== all) t.notOk(alone && existsSync(join(repositoryRoot, all)), `${file} is run twice`)
  }
})
