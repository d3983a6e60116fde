/** Processes of this machine: those that a test has started must be gone when it is over. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Command lines that contain `text`, from /proc, or elsewhere from `ps`, which Linux may lack. */
export function commandLinesWith(text: string): string[] {
  return commandLines().filter(line => line.includes(text))
}

function commandLines(): string[] {
  if (!existsSync('/proc/self/cmdline'))
    return execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).split('\n')
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
}

/** The content of a file of /proc, or nothing: a process may end at any moment, or be another user's. */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
