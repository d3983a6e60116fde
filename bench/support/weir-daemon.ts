import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { PORT_ROCE } from '../../lib/wire/net/udp.js'
import { type Checkout, checkouts } from './checkouts.js'

const START_MS_MAX = 20_000
/** UDP port of daemons of another checkout. */
const OTHER_PORT = 4801
/** Clock ticks of /proc/PID/stat in a second: the same on every Linux. */
const TICKS_PER_SECOND = 100

/** Where a daemon runs. */
export interface Place {
  address: string
  /** A command line that runs another one there. */
  within: readonly string[]
}

/** A daemon in a process of its own. */
export class WeirDaemon {
  readonly client: DaemonClient
  /** UDP port of RoCEv2. */
  readonly udpPort: number
  readonly #child: ChildProcess

  /**
   * @param folder for its socket and inbox
   * @param name of both
   * @param more options of `weir daemon`
   * @param checkout whose program it is
   * @param udpPort of RoCEv2. Default: one for each checkout, because daemons of both may have the same address
   */
  static async start(
    folder: string,
    name: string,
    { address, within }: Place,
    more: readonly string[] = [],
    checkout: Checkout = checkouts()[0]!,
    udpPort = checkout.name === 'other' ? OTHER_PORT : PORT_ROCE,
  ): Promise<WeirDaemon> {
    const socket = join(folder, `${name}.sock`)
    const inbox = join(folder, `${name}-inbox`)
    const args = ['daemon', '--address', address, '--socket', socket, '--inbox', inbox, '--log-level', 'warn']
    // An older checkout does not know the option.
    if (existsSync(join(dirname(checkout.weir), '../lib/daemon/sealing.js'))) args.push('--insecure')
    args.push('--port', String(udpPort))
    const [program, ...words] = [...within, process.execPath, checkout.weir, ...args, ...more]
    const child = spawn(program!, words, { stdio: ['ignore', 'ignore', 'inherit'] })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.removeListener('exit', kill))
    for (const end = Date.now() + START_MS_MAX; ; await sleep(50)) {
      if (child.exitCode !== null || Date.now() > end) {
        kill()
        throw new WeirError('WEIR_BAD_STATE', `the daemon on ${address} did not start`)
      }
      // The socket exists a moment before the daemon listens.
      const client = existsSync(socket) ? await connectDaemon(socket).catch(() => null) : null
      if (client !== null) return new WeirDaemon(child, client, udpPort)
    }
  }

  private constructor(child: ChildProcess, client: DaemonClient, udpPort: number) {
    this.#child = child
    this.udpPort = udpPort
    this.client = client
  }

  /** User and system time until now. NaN where /proc does not report it. */
  cpuSeconds(): number {
    const fields = this.#proc('stat').split(') ')[1]?.split(' ')
    return fields === undefined ? Number.NaN : (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  }

  rssBytes(): number {
    return this.#memory('VmRSS')
  }

  peakRssBytes(): number {
    return this.#memory('VmHWM')
  }

  async stop(): Promise<void> {
    this.client.close()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }

  #memory(what: string): number {
    const line = new RegExp(`${what}:\\s+(\\d+) kB`).exec(this.#proc('status'))
    return Number(line?.[1] ?? Number.NaN) * 1024
  }

  #proc(file: string): string {
    try {
      return readFileSync(`/proc/${this.#child.pid}/${file}`, 'utf8')
    } catch {
      return ''
    }
  }
}
