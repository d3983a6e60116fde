/**
 * A host's daemon: its data side, on a thread of its own or on this one, and the control plane. `start` opens
 * all parts or none. `close` closes them in order.
 */
import { ControlServer } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import type { HostParts } from './host-parts.js'
import { HOST_REQUESTS, type HostAbout, type HostRequest, type HostService } from './host-service.js'
import type { LocalHostOptions } from './local-host.js'
import { WorkerHost } from './worker-host.js'

/** How long the data path may take to answer a ping. It is less than the interval at which a client pings. */
const PING_MS = 4000

export interface DaemonOptions extends LocalHostOptions {
  /** Path of the control socket. */
  socketPath: string
  /** Members of this group may use the control socket too, by name or number. Default: its owner alone. */
  group?: string
  log: Logger
  /**
   * True: the data side runs on a thread of its own. Not so with io 'raw', because the package raw-socket
   * works on the main thread of a process only. Default false.
   */
  worker?: boolean
}

export class Daemon {
  readonly control: ControlServer
  /** Resolves when the daemon is closed, whoever closed it. */
  readonly closed: Promise<void>
  /** The defect that stopped the NIC. Null: none did. */
  failure: unknown = null
  readonly #host: HostService
  readonly #log: Logger
  #resolveClosed: () => void = () => {}
  #closing = false

  /**
   * Throws WEIR_BAD_ARGUMENT, WEIR_BAD_STATE, WEIR_UNSUPPORTED or WEIR_NO_FILE after it closed what was open.
   */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const { socketPath, group, log, worker, ...hostOptions } = options
    let onDefect = (_error: unknown) => {}
    // Only the thread on which the transport runs loads its modules, to save memory and time.
    const service = worker && options.io !== 'raw' ? WorkerHost : (await import('./local-host.js')).LocalHost
    const host = await service.open(hostOptions, log, error => onDefect(error))
    try {
      const daemon = new Daemon(host, socketPath, log)
      onDefect = error => daemon.#onDefect(error)
      await daemon.control.listen(group)
      return daemon
    } catch (error) {
      await host.close()
      throw error
    }
  }

  private constructor(host: HostService, socketPath: string, log: Logger) {
    this.#host = host
    this.#log = log
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    this.control = new ControlServer(socketPath, {
      onMalformed: error => log.warn({ err: error }, 'a client of the control socket was dropped'),
      onDefect: error => log.error({ err: error }, 'a request failed by a defect'),
    })
    for (const kind of HOST_REQUESTS) this.#forward(kind)
    this.control.registerHandler('ping', async () => {
      await this.isAlive()
      return { ping: {} }
    })
    this.control.registerHandler('stop', async () => {
      // The answer is sent before the daemon closes.
      setImmediate(() => void this.close())
      return { stop: {} }
    })
  }

  get about(): HostAbout {
    return this.#host.about
  }

  /** The parts of the host. Throws WEIR_BAD_STATE if they are on another thread. */
  get parts(): HostParts {
    const { parts } = this.#host
    if (parts !== null) return parts
    throw new WeirError(
      'WEIR_BAD_STATE',
      "the daemon's NIC is on a thread of its own: start it without worker",
    )
  }

  /** Throws WEIR_DAEMON_UNREACHABLE if the thread that handles packets does not answer within 4 s. */
  async isAlive(): Promise<void> {
    await answeredWithin(PING_MS, this.#host.isAlive())
  }

  /**
   * Ends the transfers at both ends, removes the control socket, closes the port. Has no effect the second
   * time.
   */
  async close(): Promise<void> {
    if (this.#closing) return await this.closed
    this.#closing = true
    await this.#host.close()
    await this.control.close()
    this.#log.info('stopped')
    this.#resolveClosed()
  }

  #forward<K extends HostRequest>(kind: K): void {
    this.control.registerHandler(kind, (request, context) => this.#host.answer(kind, request, context))
  }

  #onDefect(error: unknown): void {
    this.#log.fatal({ err: error }, 'the NIC has stopped by a defect')
    this.failure = error
    void this.close()
  }
}

/** Throws WEIR_DAEMON_UNREACHABLE if the data path does not answer within this time. */
async function answeredWithin(ms: number, alive: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const text = 'the thread of the daemon that handles packets hangs'
    timer = setTimeout(() => reject(new WeirError('WEIR_DAEMON_UNREACHABLE', text)), ms)
  })
  try {
    await Promise.race([alive, late])
  } finally {
    clearTimeout(timer)
  }
}
