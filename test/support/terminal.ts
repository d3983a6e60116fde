/** A command on a terminal of its own, which `script` makes. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { weirProgram } from '../../lib/package-file.js'

export class Terminal {
  /** All that it has shown, with its control characters. */
  shown = ''
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess
  #isOver = false

  /** Runs weir there. A test that uses it needs `script`. */
  constructor(t: Test, args: readonly string[], cwd?: string) {
    const words = [process.execPath, weirProgram(), ...args].map(word => `'${word.replaceAll("'", `'\\''`)}'`)
    // `exec`: signals that the terminal sends, and the exit code, are those of the command.
    this.#child = spawn('script', ['-qec', `exec ${words.join(' ')}`, '/dev/null'], {
      cwd,
      env: { ...process.env, TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout!.on('data', piece => {
      this.shown += piece
    })
    this.ended = new Promise(resolve => {
      this.#child.once('close', code => {
        this.#isOver = true
        resolve(code)
      })
    })
    t.teardown(() => this.#child.kill('SIGKILL'))
  }

  /** As on its keyboard. */
  type(text: string): void {
    this.#child.stdin!.write(text)
  }

  async until(holds: (shown: string) => boolean, what: string): Promise<void> {
    while (!holds(this.shown)) {
      if (this.#isOver) throw new Error(`ended before ${what}: ${this.shown}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}
