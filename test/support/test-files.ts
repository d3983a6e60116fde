/** Which test files `npm test` starts: each in a process of its own, unless its folder has an `all.test.ts` that loads it. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const SUITE = 'suite.test.js'
const ALL = 'all.test.js'

export interface TestFiles {
  /** Started, in the order of their names. */
  processes: string[]
  /** Loaded by the `all.test.js` of their folder. */
  withFolder: string[]
}

/** @param folder of compiled tests; paths are relative to it */
export function testFiles(folder: string): TestFiles {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isTest).sort()
  const isLoaded = (file: string) => !file.endsWith(ALL) && existsSync(join(folder, dirname(file), ALL))
  return { processes: files.filter(file => !isLoaded(file)), withFolder: files.filter(isLoaded) }
}

function isTest(file: string): boolean {
  return file !== SUITE && /^[^.]+\.test\.js$/.test(file) && !file.includes('fixtures')
}
