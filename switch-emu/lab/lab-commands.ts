/** What `weir lab exec` adds to the PATH: the running `weir`, and the Node.js that runs it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { weirProgram } from '../../lib/package-file.js'
import { labFolder } from './lab-state.js'

const WEIR = weirProgram()
/** What shells search when PATH is not set. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** Makes the lab's folder of commands. */
export function writeCommands(lab: string): void {
  const folder = commandsFolder(lab)
  mkdirSync(folder)
  const script = `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(WEIR)} "$@"\n`
  writeFileSync(join(folder, 'weir'), script, { mode: 0o755 })
}

/**
 * Its `weir` comes first, because it is that of the lab's daemons. Its Node.js comes last, after one that the
 * user has chosen.
 */
export function pathInLab(lab: string, path: string = process.env.PATH ?? DEFAULT_PATH): string {
  return [commandsFolder(lab), path, dirname(process.execPath)].join(':')
}

function commandsFolder(lab: string): string {
  return join(labFolder(lab), 'bin')
}

/** Quotes a word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
