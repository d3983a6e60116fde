/** Every test file is run: by tap itself, or with those of its folder. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

t.test('every test file is run once', async t => {
  const { stdout } = spawnSync('npx', ['tap', 'list'], { cwd: repositoryRoot, encoding: 'utf8' })
  const run = new Set(stdout.trim().split('\n'))
  const files = readdirSync(join(repositoryRoot, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.js'))
    .map(file => join('dist/test', file))
  t.ok(files.length > 200, `${files.length} files were found`)
  for (const file of files) {
    const all = join(dirname(file), 'all.test.js')
    const alone = run.has(file)
    t.equal(alone || run.has(all), true, `${file} is in none of tap's patterns (package.json)`)
    if (file !== all) t.notOk(alone && existsSync(join(repositoryRoot, all)), `${file} is run twice`)
  }
})
