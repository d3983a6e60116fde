import { type ChildProcess, spawn } from 'node:child_process'
import { WeirError } from '../../lib/errors.js'
import { weirProgram } from '../../lib/package-file.js'

/** The command line program, compiled beside this file. */
const WEIR = weirProgram()
/** The end of a child's standard error is kept for messages. */
const TAIL_CHARS = 2000
/** How long a child may take to end after SIGTERM, before it is killed. */
const GRACE_MS = 4000
/** The last output of a process may arrive a moment after its end. */
const LAST_WORDS_MS = 100

/**
 * A `weir` process of a lab. It ends by itself when its standard input or its IPC channel closes, which
 * happens whenever the parent ends, in whatever way.
 */
export class Child {
  readonly name: string
  readonly process: ChildProcess
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  #tail = ''
  #stopping = false
  #gone = false

  /**
   * @param onUnexpectedExit called once if the process ends before `stop`
   * @param within a command line that runs another one elsewhere
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
      // An interrupt from the terminal is only for the lab, which ends the children in order.
      detached: true,
    })
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARS)
    })
    // A write to a child that has ended fails. Its exit is reported elsewhere.
    this.process.stdin!.on('error', () => {})
    this.exited = new Promise(resolve => {
      const onEnd = (how: string) => {
        if (this.#gone) return
        this.#gone = true
        resolve()
        if (!this.#stopping) setTimeout(() => onUnexpectedExit(this.#failure(how)), LAST_WORDS_MS)
      }
      this.process.once('error', error => onEnd(error.message))
      // `exit` and not `close`, which does not come when this end has closed the IPC channel.
      this.process.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`))
    })
  }

  get running(): boolean {
    return !this.#gone
  }

  /** Terminates the process, and kills it when it does not end. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#gone) return
    this.process.stdin!.end()
    if (this.process.connected) this.process.disconnect()
    const timer = setTimeout(() => this.kill(), GRACE_MS)
    await this.exited
    clearTimeout(timer)
  }

  /** Releases a process that must remain when this one ends. */
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
