import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { WeirError } from '../../lib/errors.js'

/** Returns true if there is a program of that name. */
export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** A program that runs until `end`, and ends with this process. */
export class Program {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #ended: Promise<void>
  readonly #words: readonly string[]
  stdout = ''
  stderr = ''

  constructor(words: readonly string[]) {
    this.#words = words
    const [program, ...args] = words
    const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', text => {
      this.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      this.stderr += text
    })
    // A program that has ended reads nothing more. Its exit code says why.
    child.stdin.on('error', () => {})
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    this.#ended = new Promise(resolve => {
      child.once('error', error => {
        this.stderr += error.message
        resolve()
      })
      child.once('close', () => {
        process.removeListener('exit', kill)
        resolve()
      })
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Writes to its standard input, which then ends. */
  tell(text: string): void {
    this.#child.stdin.end(text)
  }

  /** Resolves when `stdout` matches. Throws when the program ends first. */
  async says(pattern: RegExp): Promise<void> {
    let over = false
    void this.#ended.then(() => {
      over = true
    })
    while (!pattern.test(this.stdout)) {
      if (over) throw this.#failure()
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  /** Resolves with its output when it has ended by itself. Throws when it failed or takes too long. */
  async output(msMax: number): Promise<string> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), msMax)
    await this.#ended
    clearTimeout(timer)
    if (this.#child.exitCode !== 0) throw this.#failure()
    return this.stdout
  }

  async end(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2000)
    await this.#ended
    clearTimeout(timer)
  }

  #failure(): WeirError {
    const said = (this.stderr || this.stdout).trim().split('\n').slice(-3).join(' ')
    return new WeirError('WEIR_UNSUPPORTED', `${this.#words.join(' ')}: ${said || 'failed'}`)
  }
}
