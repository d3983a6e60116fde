import { type ChildProcess, spawn } from 'node:child_process'
import { WeirError } from '../../lib/errors.js'
import { weirProgram } from '../../lib/package-file.js'

/** The command line program, compiled beside this file. */
const WEIR = weirProgram()
/** The end of what a child says on standard error is kept for messages. */
const TAIL_CHARS = 2000
/** How long a child may take to end when asked, before it is killed. */
const GRACE_MS = 4000
/** What a process said last may be read a moment after it has gone. */
const LAST_WORDS_MS = 100

/**
 * A `weir` process of a lab. It ends by itself when its standard input or its IPC channel closes, which the
 * operating system sees to when the parent dies, however it dies.
 */
export class Child {
  readonly name: string
  readonly process: ChildProcess
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>
  #tail = ''
  #stopping = false
  #gone = false

  /**
   * @param onUnexpectedExit called once if the process ends before `stop`
   * @param within a command line that runs another one: to be somewhere else
   */
  constructor(
    name: string,
    args: string[],
    ipc: boolean,
    onUnexpectedExit: (error: WeirError) => void,
    within: readonly string[] = [],
  ) {
    this.name = name
    const [program, ...words] = [...within, process.execPath, WEIR, ...args]
    this.process = spawn(program!, words, {
      stdio: ['pipe', 'ignore', 'pipe', ...(ipc ? ['ipc' as const] : [])],
      // An interrupt from the terminal is for the lab alone: it ends the children in order.
      detached: true,
    })
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARS)
    })
    // A child that is gone cannot be written to; its exit says so.
    this.process.stdin!.on('error', () => {})
    this.exited = new Promise(resolve => {
      const onEnd = (how: string) => {
        if (this.#gone) return
        this.#gone = true
        resolve()
        if (!this.#stopping) setTimeout(() => onUnexpectedExit(this.#failure(how)), LAST_WORDS_MS)
      }
      this.process.once('error', error => onEnd(error.message))
      // Not `close`: it does not come when this end has closed the IPC channel.
      this.process.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`))
    })
  }

  get running(): boolean {
    return !this.#gone
  }

  /** Asks the process to end, and kills it when it does not. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#gone) return
    this.process.stdin!.end()
    if (this.process.connected) this.process.disconnect()
    const timer = setTimeout(() => this.kill(), GRACE_MS)
    await this.exited
    clearTimeout(timer)
  }

  /** Lets go of a process that is to stay when this one ends. */
  release(): void {
    this.#stopping = true
    if (this.process.connected) this.process.disconnect()
    this.process.stdin!.destroy()
    this.process.stderr!.destroy()
    this.process.unref()
  }

  /** Ends the process at once. */
  kill(): void {
    this.#stopping = true
    if (!this.#gone) this.process.kill('SIGKILL')
  }

  #failure(how: string): WeirError {
    const said = this.#tail.trim()
    return new WeirError(
      'WEIR_CONNECTION_LOST',
      `${this.name} of the lab ended by itself (${how})${said === '' ? '' : `; it said: ${said}`}`,
    )
  }
}
