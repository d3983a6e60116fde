import { WeirError } from '../errors.js'
import type { ConnectionHandler, ConnectionRequest, Listener } from '../nic/types.js'
import type { Nanos } from '../time/nanos.js'
import { CONTROL_MARK, DATA_MARK, PERF_PORT, SESSION_BYTES } from './messages.js'
import { ServedSession } from './served-session.js'
import type { PerfServerOptions } from './server-options.js'

/** Runs that are served at a time. */
const SESSIONS_MAX = 16
/** Memory for the messages of all sessions. */
const MEMORY_BYTES_MAX = 128 << 20

/**
 * Lets other hosts measure: receives their messages, answers them, sends messages of its own. Everything that
 * it holds has a bound.
 */
export class PerfServer implements Listener {
  readonly options: PerfServerOptions
  readonly #sessions = new Set<ServedSession>()
  #refuses = false
  #busy = false

  constructor(options: PerfServerOptions) {
    this.options = options
    options.verbs.listen(PERF_PORT, this)
  }

  /** Runs that are served now. */
  get sessions(): ReadonlySet<ServedSession> {
    return this.#sessions
  }

  /** Refuses new runs from now on, with a message that says so. */
  refuse(): void {
    this.#refuses = true
  }

  accept(now: Nanos, { privateData, remote }: ConnectionRequest): ConnectionHandler {
    if (this.#refuses) {
      throw new WeirError('WEIR_REJECTED', 'this host does not let itself be measured (--no-perf)')
    }
    const [mark] = privateData
    if (mark === CONTROL_MARK) return this.#open(now)
    if (mark !== DATA_MARK || privateData.length < 1 + SESSION_BYTES) {
      throw new WeirError('WEIR_PROTOCOL', 'perf: neither a session nor a data connection')
    }
    const token = Buffer.from(privateData.subarray(1, 1 + SESSION_BYTES)).toString('hex')
    for (const session of this.#sessions) {
      if (session.isOf(token, remote)) return session.join()
    }
    throw new WeirError('WEIR_REJECTED', 'perf: there is no such session')
  }

  /** Ends sessions that have been silent for too long. Call it about every second. */
  onTick(now: Nanos): void {
    for (const session of this.#sessions) session.onTick(now)
  }

  /** Ends all sessions and refuses new ones. */
  close(now: Nanos): void {
    this.refuse()
    const why = new WeirError('WEIR_CONNECTION_LOST', 'its daemon was stopped')
    for (const session of this.#sessions) session.end(now, why)
  }

  #open(now: Nanos): ServedSession {
    let established = 0
    for (const session of this.#sessions) if (session.established) established++
    if (established >= SESSIONS_MAX) {
      throw new WeirError('WEIR_FULL', `perf: ${SESSIONS_MAX} runs are being served already`)
    }
    const session = new ServedSession(now, {
      ...this.options,
      reserve: bytes => this.#reserve(bytes),
      onChanged: () => this.#updateBusy(),
      onEnded: ended => {
        this.#sessions.delete(ended)
        this.#updateBusy()
      },
    })
    this.#sessions.add(session)
    return session
  }

  /** Throws WEIR_FULL. */
  #reserve(bytes: number): void {
    let used = 0
    for (const session of this.#sessions) used += session.memoryBytes
    if (used + bytes <= MEMORY_BYTES_MAX) return
    throw new WeirError('WEIR_FULL', `perf: the runs that are served now leave no ${bytes} bytes of memory`)
  }

  #updateBusy(): void {
    let busy = false
    for (const session of this.#sessions) busy ||= session.busyPoll
    if (busy === this.#busy) return
    this.#busy = busy
    this.options.onBusyPoll?.(busy)
  }
}
