/** Writes `dist/weir` where esbuild's program is missing: files that load the program module by module. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param folder beside the compiled `bin`; it is made if it does not exist */
export function writeUnbundled(folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'weir.js'), "#!/usr/bin/env node\nimport '../bin/weir.js'\n")
  writeFileSync(join(folder, 'command-line.js'), "export * from '../bin/command-line.js'\n")
}
