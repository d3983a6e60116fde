import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import type { PortResult } from '../../lib/scenario/result.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import { linksOf } from '../fabric.js'
import type { CapturePlace } from '../port-captures.js'
import { Child } from '../real-time/child.js'
import type { SwitchReport } from '../real-time/real-time-fabric.js'
import { SwitchClient } from '../real-time/switch-client.js'
import { freePorts } from './free-ports.js'
import type { OverlayStart } from './overlay-messages.js'
import type { HostLink } from './overlay-switch.js'

const LOOPBACK = '127.0.0.1'
/** Bring-ups that are tried when a port that was free is taken meanwhile. */
const TRIES = 3
/** A daemon that does not answer after this time will not. */
const DAEMON_UP_MS = 30_000
const RETRY_MS = 50

export interface LabHost {
  name: string
  /** Its address within the lab. */
  address: string
  /** Folder that receives files. */
  inbox: string
  client: DaemonClient
}

export interface LabOptions {
  /** Captures every switch port. */
  captures?: CapturePlace
}

/**
 * A scenario's network as processes on this machine: one for all switches, one daemon for each host, joined by
 * VXLAN on loopback. What it needs on disk is in one private temporary folder.
 */
export class Lab {
  readonly scenario: Scenario
  readonly folder: string
  readonly hosts = new Map<string, LabHost>()
  /** Rejects when a process of the lab ends by itself; never resolves. */
  readonly failed: Promise<never>
  readonly #children: Child[] = []
  readonly #options: LabOptions
  #switch!: SwitchClient<OverlayStart>
  #fail: (error: WeirError) => void = () => {}
  #isDown = false
  readonly #onExit = () => this.#abandon()

  /** Brings everything up, and takes everything down again if that fails. */
  static async up(scenario: Scenario, options: LabOptions = {}, signal?: AbortSignal): Promise<Lab> {
    for (let left = TRIES; ; left--) {
      const lab = new Lab(scenario, options)
      try {
        await Promise.race([lab.#start(), lab.failed, aborted(signal)])
        return lab
      } catch (error) {
        await lab.down()
        const portTaken = error instanceof Error && error.message.includes('EADDRINUSE')
        if (left === 1 || !portTaken) throw error
      }
    }
  }

  private constructor(scenario: Scenario, options: LabOptions) {
    this.scenario = scenario
    this.#options = options
    this.folder = mkdtempSync(join(tmpdir(), 'weir-lab-'))
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {})
    process.once('exit', this.#onExit)
  }

  host(name: string): LabHost {
    const host = this.hosts.get(name)
    if (host === undefined) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `lab: there is no host ${name}; there are ${[...this.hosts.keys()].join(', ')}`,
      )
    }
    return host
  }

  /** Ports and series count from here. */
  async begin(): Promise<void> {
    await this.#switch.ask({ type: 'begin' }, 'begun')
  }

  /** The ports so far, and what the queue of each holds now. */
  async ports(): Promise<{ ports: PortResult[]; queueBytes: number[] }> {
    return await this.#switch.ask({ type: 'ports' }, 'ports')
  }

  async report(): Promise<SwitchReport> {
    return (await this.#switch.ask({ type: 'report' }, 'report')).report
  }

  /** Ends every process and removes the folder. Harmless when called again. */
  async down(): Promise<void> {
    this.#isDown = true
    for (const host of this.hosts.values()) host.client.close()
    this.hosts.clear()
    // The daemons first: the switch still carries their goodbyes.
    const [sw, ...daemons] = this.#children
    await Promise.all(daemons.map(child => child.stop()))
    await sw?.stop()
    rmSync(this.folder, { recursive: true, force: true })
    process.removeListener('exit', this.#onExit)
  }

  async #start(): Promise<void> {
    const { hosts } = this.scenario
    const [hubPort, ...hostPorts] = await freePorts(hosts.length + 1, LOOPBACK)
    const hub = { address: LOOPBACK, port: hubPort! }
    const links: HostLink[] = hosts.map(({ name }, i) => ({
      host: name,
      vni: i + 1,
      peer: { address: LOOPBACK, port: hostPorts[i]! },
    }))
    this.#switch = new SwitchClient(
      this.#spawn('the switch process', ['internal', 'switch', this.folder], true),
    )
    for (const link of links) this.#spawnDaemon(link, hub.port)
    await this.#switch.up()
    const { captures } = this.#options
    await this.#switch.ask({ type: 'start', scenario: this.scenario, local: hub, links, captures }, 'started')
    await Promise.all(hosts.map(({ name, address }) => this.#awaitDaemon(name, address)))
  }

  #spawn(name: string, args: string[], ipc: boolean): Child {
    const child = new Child(name, args, ipc, error => this.#fail(error))
    this.#children.push(child)
    return child
  }

  #spawnDaemon({ host, vni, peer }: HostLink, hubPort: number): void {
    const { hosts, cc, transport, int, baseRttNs } = this.scenario
    const inbox = this.#inbox(host)
    mkdirSync(inbox, { mode: 0o700 })
    const options = {
      address: hosts.find(({ name }) => name === host)!.address,
      socket: this.#socket(host),
      inbox,
      overlay: `vni=${vni},local=${peer.address}:${peer.port},peer=${LOOPBACK}:${hubPort}`,
      'line-rate': `${linksOf(this.scenario, host)[0]!.rateBps}bps`,
      cc: cc.name,
      mtu: String(transport.pathMtu),
      'ack-every': String(transport.ackEvery),
      'retry-count': String(transport.retryCount),
      int: `${int.format}:${int.hops}`,
      'log-level': 'warn',
      ...(transport.ackTimeoutNs > 0 && { 'ack-timeout': `${transport.ackTimeoutNs}ns` }),
      ...(baseRttNs !== 'measured' && { 'base-rtt': `${baseRttNs}ns` }),
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    for (const [name, value] of Object.entries(cc.options)) args.push('--cc-option', `${name}=${value}`)
    this.#spawn(`the daemon of ${host}`, ['daemon', '--until-stdin-ends', ...args], false)
  }

  async #awaitDaemon(name: string, address: string): Promise<void> {
    const deadline = performance.now() + DAEMON_UP_MS
    while (!this.#isDown) {
      try {
        const client = await connectDaemon(this.#socket(name))
        this.hosts.set(name, { name, address, inbox: this.#inbox(name), client })
        await client.status()
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  #socket(host: string): string {
    return join(this.folder, `${host}.sock`)
  }

  #inbox(host: string): string {
    return join(this.folder, `inbox-${host}`)
  }

  /** The process ends without `down`: no time for manners. */
  #abandon(): void {
    for (const child of this.#children) child.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/**
 * Brings a lab up, does `work` with it and takes it down again, whatever happens: an error, Ctrl-C, SIGTERM, a
 * process of the lab that dies. `signal` of `work` is aborted as soon as the lab is to end.
 */
export async function withLab<T>(
  scenario: Scenario,
  work: (lab: Lab, signal: AbortSignal) => Promise<T>,
  options: LabOptions = {},
): Promise<T> {
  const interrupt = new Interrupt()
  try {
    const lab = await Lab.up(scenario, options, interrupt.signal)
    try {
      return await Promise.race([work(lab, interrupt.signal), lab.failed, interrupt.happened])
    } finally {
      interrupt.abort()
      await lab.down()
    }
  } finally {
    interrupt.close()
  }
}

/** Rejects when the signal is aborted; never resolves. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const cancel = () => reject(new WeirError('WEIR_CANCELLED', 'stopped while the lab was coming up'))
    if (signal?.aborted) cancel()
    else signal?.addEventListener('abort', cancel, { once: true })
  })
}

/** SIGINT and SIGTERM as a promise that rejects, while it is open. */
class Interrupt {
  readonly happened: Promise<never>
  readonly #abort = new AbortController()
  readonly #listeners = new Map<NodeJS.Signals, () => void>()

  constructor() {
    this.happened = new Promise((_, reject) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        const listener = () => {
          reject(new WeirError('WEIR_CANCELLED', `stopped by ${name}`, { cause: name }))
          this.abort()
        }
        this.#listeners.set(name, listener)
        process.on(name, listener)
      }
    })
    this.happened.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  abort(): void {
    this.#abort.abort()
  }

  close(): void {
    for (const [name, listener] of this.#listeners) process.removeListener(name, listener)
  }
}
