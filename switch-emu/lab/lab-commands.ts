/** What `weir lab exec` adds to the PATH: `weir` as it runs now, and the Node.js that runs it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { weirProgram } from '../../lib/package-file.js'
import { labFolder } from './lab-state.js'

const WEIR = weirProgram()
/** What shells look through when there is no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** Makes the lab's folder of commands. */
export function writeCommands(lab: string): void {
  const folder = commandsFolder(lab)
  mkdirSync(folder)
  const script = `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(WEIR)} "$@"\n`
  writeFileSync(join(folder, 'weir'), script, { mode: 0o755 })
}

/** Its `weir` comes first, for it is that of the lab's daemons; its Node.js last, behind one that the user has chosen. */
export function pathInLab(lab: string, path: string = process.env.PATH ?? DEFAULT_PATH): string {
  return [commandsFolder(lab), path, dirname(process.execPath)].join(':')
}

function commandsFolder(lab: string): string {
  return join(labFolder(lab), 'bin')
}

/** A word of a shell, whatever it holds. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
