/** Command lines that need no process of their own: those that no signal reaches, and whose standard input nobody reads. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { CommandEnd, CommandLine } from './command-host.js'

const HOST = fileURLToPath(new URL('./command-host.js', import.meta.url))

/** Runs command lines one after the other, in a process that it starts for the first. */
export class CommandLines {
  readonly #t: Test
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | null = null
  #last: Promise<unknown> = Promise.resolve()

  /** The process ends with `t`. */
  constructor(t: Test, env: NodeJS.ProcessEnv = process.env) {
    this.#t = t
    this.#env = env
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
      child.once('message', (end: CommandEnd) => {
        child.off('exit', onExit)
        resolve(end)
      })
      child.send(line)
    })
  }

  #start(): ChildProcess {
    const child = fork(HOST, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    this.#t.teardown(() => child.kill('SIGKILL'))
    return child
  }
}
