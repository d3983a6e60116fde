/**
 * What the daemon tells the service manager that started it, as sd_notify(3) has it: datagrams of lines NAME=VALUE to the socket that
 * NOTIFY_SOCKET names. Where koffi is missing, the program systemd-notify sends them.
 */
import { execFile } from 'node:child_process'
import { sendUnixDatagram } from '../io/linux/unix-datagram.js'
import type { Logger } from '../log.js'

/** The watchdog is fed this many times in the time after which it bites, as sd_watchdog_enabled(3) advises. */
const FEEDS_A_TERM = 2
/** How long systemd-notify may take. */
const PROGRAM_MS_MAX = 5000

/** What it watches. */
interface Watched {
  /** Rejects when the thread that handles packets does not answer. */
  isAlive(): Promise<void>
}

/** The variables with which a service manager says that it listens. */
interface ServiceEnvironment {
  NOTIFY_SOCKET?: string | undefined
  WATCHDOG_USEC?: string | undefined
  WATCHDOG_PID?: string | undefined
}

export class ServiceManager {
  readonly #socket: string
  readonly #log: Logger
  /** 0: it has no watchdog. */
  readonly #feedEveryMs: number
  #timer: NodeJS.Timeout | undefined
  #failed = false

  /** Returns null where no service manager listens. Processes that this one starts do not see the socket. */
  static from(env: ServiceEnvironment, log: Logger): ServiceManager | null {
    const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = env
    delete env.NOTIFY_SOCKET
    if (!/^[/@]./.test(socket)) return null
    const isOurs = pid === undefined || pid === '' || Number(pid) === process.pid
    return new ServiceManager(socket, isOurs ? watchdogMs(usec) / FEEDS_A_TERM : 0, log)
  }

  private constructor(socket: string, feedEveryMs: number, log: Logger) {
    this.#socket = socket
    this.#feedEveryMs = feedEveryMs
    this.#log = log
  }

  /** Says that the service is up. From now on the watchdog hears of it as long as `watched` answers. */
  ready(status: string, watched: Watched): void {
    this.#tell(`READY=1\nSTATUS=${status}`)
    if (this.#feedEveryMs === 0) return
    this.#timer = setInterval(() => void this.#feed(watched), this.#feedEveryMs)
    this.#timer.unref()
  }

  /** The watchdog hears on, for as long as the end takes. */
  stopping(): void {
    this.#tell('STOPPING=1\nSTATUS=stopping')
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #feed(watched: Watched): Promise<void> {
    try {
      await watched.isAlive()
      this.#tell('WATCHDOG=1')
    } catch (error) {
      this.#log.error({ err: error }, 'the watchdog of the service manager is not fed')
    }
  }

  #tell(lines: string): void {
    try {
      const fault = sendUnixDatagram(this.#socket, Buffer.from(lines))
      if (fault !== null) this.#report(fault)
    } catch {
      this.#tellByProgram(lines)
    }
  }

  #tellByProgram(lines: string): void {
    const env = { ...process.env, NOTIFY_SOCKET: this.#socket }
    execFile('systemd-notify', lines.split('\n'), { env, timeout: PROGRAM_MS_MAX }, error => {
      if (error) this.#report(error.message)
    })
  }

  /** Once: the log would fill otherwise. */
  #report(fault: string): void {
    if (!this.#failed) this.#log.warn({ socket: this.#socket, fault }, 'the service manager cannot be told')
    this.#failed = true
  }
}

/** 0: none. */
function watchdogMs(usec = ''): number {
  const ms = /^\d{1,15}$/.test(usec) ? Number(usec) / 1000 : 0
  // What setInterval takes.
  return Math.min(ms, 2 ** 31 - 1)
}
