/** Which test files are started: each in a process of its own, unless its folder has an `all.test.ts` that loads it. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const SUITE = 'suite.test.js'
const ALL = 'all.test.js'
const LONG = '.long.test.js'

interface TestFiles {
  /** Started by `npm test`: those of whole folders, then the others, in the order of their names. */
  processes: string[]
  /** Loaded by the `all.test.js` of their folder. */
  withFolder: string[]
  /** Started by `npm run test:long`. */
  long: string[]
}

/**
 * @param folder of compiled tests; paths are relative to it
 * @param sources of these tests: what was compiled from a file that has gone since is no test
 */
export function testFiles(folder: string, sources = join(folder, '../../test')): TestFiles {
  const isThere = (file: string) => existsSync(join(sources, file.replace(/\.js$/, '.ts')))
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => isTest(file) && isThere(file))
    .sort()
  const isLoaded = (file: string) => !file.endsWith(ALL) && existsSync(join(folder, dirname(file), ALL))
  const long = all.filter(file => file.endsWith(LONG))
  const others = all.filter(file => !file.endsWith(LONG))
  // Long files begin first, so that nobody waits for one file at the end.
  const first = (file: string) => (file.endsWith(ALL) ? 0 : 1)
  return {
    processes: others.filter(file => !isLoaded(file)).sort((a, b) => first(a) - first(b)),
    withFolder: others.filter(isLoaded),
    long,
  }
}

function isTest(file: string): boolean {
  return file !== SUITE && file.endsWith('.test.js') && !file.includes('fixtures')
}
