/**
 * Command lines that need no process of their own: they get no signal, and nobody reads their standard input.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type CommandEnd, type CommandLine, END } from './end-mark.js'

const HOST = fileURLToPath(new URL('./command-host.js', import.meta.url))

/** Runs command lines one after the other, in a process that it starts for the first. */
export class CommandLines {
  readonly #t: Test
  readonly #env: NodeJS.ProcessEnv
  readonly #user: { uid?: number; gid?: number }
  #child: ChildProcess | null = null
  #last: Promise<unknown> = Promise.resolve()

  /** Output of programs that a command runs, which write to the process's own output. */
  readonly #written = { stdout: '', stderr: '' }

  /** The process ends with `t`. */
  constructor(t: Test, env: NodeJS.ProcessEnv = process.env, user: { uid?: number; gid?: number } = {}) {
    this.#t = t
    this.#env = env
    this.#user = user
  }

  /** Number of the process, or undefined if there is none yet. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Runs `weir` with these words. */
  run(words: readonly string[], cwd = process.cwd()): Promise<CommandEnd> {
    const ended = this.#last.then(() => this.#ask({ words, cwd }))
    this.#last = ended.catch(() => {})
    return ended
  }

  #ask(line: CommandLine): Promise<CommandEnd> {
    this.#child ??= this.#start()
    const child = this.#child
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`the process ended at ${line.words.join(' ')}`))
      child.once('exit', onExit)
      child.once('message', async (end: CommandEnd) => {
        child.off('exit', onExit)
        const [stdout, stderr] = await Promise.all([this.#take(child, 'stdout'), this.#take(child, 'stderr')])
        resolve({ code: end.code, stdout: stdout + end.stdout, stderr: stderr + end.stderr })
      })
      child.send(line)
    })
  }

  /** Returns the output before the mark that ends a command. */
  async #take(child: ChildProcess, name: 'stdout' | 'stderr'): Promise<string> {
    while (!this.#written[name].includes(END)) await once(child[name]!, 'data')
    const [written, rest] = this.#written[name].split(END) as [string, string]
    this.#written[name] = rest
    return written
  }

  #start(): ChildProcess {
    const child = fork(HOST, { ...this.#user, env: this.#env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]!.setEncoding('utf8').on('data', text => {
        this.#written[name] += text
      })
    }
    this.#t.teardown(() => child.kill('SIGKILL'))
    return child
  }
}
