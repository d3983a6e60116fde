import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WeirError } from './errors.js'

/**
 * The path of a file that comes with this package, `bench/workloads/websearch.txt`. Compiled code lies in a folder
 * of its own below the package, so the search goes upward from it. Throws WEIR_NO_FILE if nothing is found.
 */
export function packageFile(...parts: string[]): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, ...parts)
    if (existsSync(candidate)) return candidate
    if (folder === dirname(folder)) {
      throw new WeirError('WEIR_NO_FILE', `${parts.join('/')} is missing from this installation of weir`)
    }
  }
}

/** The program `weir`, for processes that start others of it. */
export function weirProgram(): string {
  return packageFile('dist', 'weir', 'weir.js')
}
