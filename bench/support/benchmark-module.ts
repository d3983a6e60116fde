/**
 * Where the code of a benchmark is. One that measures what its own process does is bundled, as the program `weir` is
 * (`bin/bundle.ts`), so that it measures what users run. Without esbuild, and in older checkouts, there is no bundle.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** @param folder of a checkout that is built */
export function benchmarkModule(folder: string, name: string): string {
  return bundledBenchmark(folder, name) ?? pathToFileURL(join(folder, 'dist', 'bench', `${name}.js`)).href
}

/** Null: it is not bundled. */
export function bundledBenchmark(folder: string, name: string): string | null {
  const file = join(folder, 'dist', 'bench', 'bundled', `${name}.js`)
  return existsSync(file) ? pathToFileURL(file).href : null
}
