/**
 * A step of `npm run build`: the compiler leaves the output of sources that are no longer there, and a test of them would run on.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

/** What the compiler writes of `x.ts`. */
const COMPILED = /\.(?:js|js\.map|d\.ts)$/
/** Bundles of benchmarks (bin/bundle.ts) have no source of their name. */
const NOT_COMPILED = /^bench\/bundled\//

/**
 * Removes compiled files whose source is gone, and returns their paths.
 *
 * @param root where the sources are @param output where the compiler writes
 * @param folders of both
 */
export function removeStale(root: string, output: string, folders: readonly string[]): string[] {
  const removed: string[] = []
  for (const folder of folders) {
    if (!existsSync(join(output, folder))) continue
    for (const entry of readdirSync(join(output, folder), { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name)
      const path = relative(output, file)
      if (!entry.isFile() || !COMPILED.test(path) || NOT_COMPILED.test(path)) continue
      if (existsSync(join(root, path.replace(COMPILED, '.ts')))) continue
      rmSync(file)
      removed.push(path)
    }
  }
  return removed
}
