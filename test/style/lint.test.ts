/** Lint and format, as `npm run lint`. Biome's program is an optional package of its own for each platform. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const script = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')

function noBiome(): string | false {
  const { status } = spawnSync(process.execPath, [script, '--version'], { encoding: 'utf8' })
  return status === 0 ? false : 'the program of @biomejs/biome for this platform is not installed'
}

t.test('lint and format', { skip: noBiome() }, async t => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, 'check', '.'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  })
  t.equal(status, 0, `${stdout}${stderr}`)
})
