/**
 * All test files of a folder in one process, because starting one costs more than most tests that need none
 * of their own.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/**
 * Runs the test files of a folder, in the order of their names. They must not wait for their tests at their top level.
 * Those that take long, NAME.long.test.js, are left to `npm run test:long`.
 * @param folder of compiled files
 */
export function wholeFolder(folder: string): void {
  const files = readdirSync(folder).filter(file => /^[^.]+\.test\.js$/.test(file) && file !== 'all.test.js')
  // Within a test. Otherwise tap would take the tests so far for all of them.
  t.test('load the files', async t => {
    for (const file of files.sort()) {
      await import(pathToFileURL(join(folder, file)).href)
      t.pass(file)
    }
  })
}
