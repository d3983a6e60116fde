import { spawn } from 'node:child_process'
import { WeirError } from '../../lib/errors.js'

/** A system command that takes longer hangs. */
const TIMEOUT_MS = 30_000

/**
 * Runs a system command and resolves with its output. Throws WEIR_UNSUPPORTED with its message when it fails,
 * or when there is no such command.
 */
export async function runCommand(words: readonly string[], input = ''): Promise<string> {
  const [program, ...args] = words
  return await new Promise((resolve, reject) => {
    const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
    let said = ''
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      printed += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      said += text
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const fail = (why: string) => {
      clearTimeout(timer)
      reject(new WeirError('WEIR_UNSUPPORTED', `${words.join(' ')} failed: ${why}`))
    }
    child.once('error', (error: NodeJS.ErrnoException) =>
      fail(error.code === 'ENOENT' ? `${program} is not installed` : error.message),
    )
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(printed)
      else fail(said.trim() || String(signal ?? `exit code ${code}`))
    })
  })
}
