/** What stands in `dist/weir` where esbuild's program is missing: files that load the program module by module. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param folder a folder beside the compiled `bin`; made if it is not there */
export function writeUnbundled(folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'weir.js'), "#!/usr/bin/env node\nimport '../bin/weir.js'\n")
  writeFileSync(join(folder, 'command-line.js'), "export * from '../bin/command-line.js'\n")
}
