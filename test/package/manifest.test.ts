/** What package.json and the lock file promise. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

interface Locked {
  resolved?: string
  hasInstallScript?: boolean
  optional?: boolean
}

const lock = JSON.parse(readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8')) as {
  name: string
  packages: Record<string, Locked>
}

t.test('the lock file names no registry', async t => {
  const packages = Object.entries(lock.packages)
  t.ok(packages.length > 100)
  t.same(
    packages.filter(([, { resolved }]) => resolved !== undefined).map(([name]) => name),
    [],
  )
})

t.test('what is built when it is installed is optional, or does without', async t => {
  const { allowScripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'))
  // Its script only checks that its program, of a package for one kind of machine, starts.
  t.equal(allowScripts.esbuild, false)
  const built = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)
  t.same(
    built
      .filter(([name, { optional }]) => !['', 'node_modules/esbuild'].includes(name) && !optional)
      .map(([name]) => name),
    [],
  )
})
