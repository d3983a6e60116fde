import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkSocketPath } from '../../lib/control/socket-path.js'
import type { WeirError } from '../../lib/errors.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { refuseHostHop } from '../host-hop.js'
import { Child } from '../real-time/child.js'
import { daemonArguments } from '../real-time/daemon-arguments.js'
import { aborted, type Lab, type LabHost, LabHosts, type LabUpOptions } from '../real-time/lab.js'
import type { LinkChange, Ports, SwitchReport } from '../real-time/real-time-fabric.js'
import { keyFileOption } from '../real-time/scenario-key.js'
import { SwitchClient } from '../real-time/switch-client.js'
import { freePorts } from './free-ports.js'
import type { OverlayStart } from './overlay-messages.js'
import type { HostLink } from './overlay-switch.js'

const LOOPBACK = '127.0.0.1'
/** Attempts to bring it up when a free port is bound by another process meanwhile. */
const TRIES = 3

/**
 * A scenario's network as processes on this machine: one for all switches, one daemon for each host, joined
 * by VXLAN on loopback. Its files are in one private temporary folder.
 */
export class OverlayLab implements Lab {
  readonly on = 'overlay'
  readonly scenario: Scenario
  readonly folder: string
  /** Rejects when a process of the lab ends by itself. Never resolves. */
  readonly failed: Promise<never>
  readonly #hosts = new LabHosts()
  readonly #children: Child[] = []
  /** Option with the key file of all daemons, if the scenario has a key. */
  #key: Record<string, string> = {}
  readonly #options: LabUpOptions
  #switch!: SwitchClient<OverlayStart>
  #fail: (error: WeirError) => void = () => {}
  #isDown = false
  readonly #onExit = () => this.#abandon()

  /** Brings everything up, and takes everything down again if that fails. */
  static async up(scenario: Scenario, options: LabUpOptions = {}, signal?: AbortSignal): Promise<OverlayLab> {
    refuseHostHop(scenario, 'on the overlay')
    for (let left = TRIES; ; left--) {
      const lab = new OverlayLab(scenario, options)
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

  private constructor(scenario: Scenario, options: LabUpOptions) {
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
    return this.#hosts.get(name)
  }

  /** Ports and series count from that time of day on. Default, or if that time is over: from now. */
  async begin(atUnixMs?: number): Promise<void> {
    await this.#switch.ask({ type: 'begin', atUnixMs }, 'begun')
  }

  /** The results of the ports so far, and what the queue of each holds now. */
  async ports(): Promise<Ports> {
    return await this.#switch.ask({ type: 'ports' }, 'ports')
  }

  async report(): Promise<SwitchReport> {
    return (await this.#switch.ask({ type: 'report' }, 'report')).report
  }

  async setLinks(change: LinkChange): Promise<LinkResult[]> {
    return (await this.#switch.ask({ type: 'setLinks', ...change }, 'linksSet')).links
  }

  /** Ends every process and removes the folder. Has no effect the second time. */
  async down(): Promise<void> {
    this.#isDown = true
    this.#hosts.close()
    // The daemons end first, because the switch still carries their disconnects.
    const [sw, ...daemons] = this.#children
    await Promise.all(daemons.map(child => child.stop()))
    await sw?.stop()
    rmSync(this.folder, { recursive: true, force: true })
    process.removeListener('exit', this.#onExit)
  }

  async #start(): Promise<void> {
    const { hosts } = this.scenario
    for (const { name } of hosts)
      checkSocketPath(this.#socket(name), 'set TMPDIR to a folder with a shorter path')
    const [hubPort, ...hostPorts] = await freePorts(hosts.length + 1, LOOPBACK)
    // It was cancelled meanwhile. Nothing would end a process that is started now.
    if (this.#isDown) return
    const hub = { address: LOOPBACK, port: hubPort! }
    const links: HostLink[] = hosts.map(({ name }, i) => ({
      host: name,
      vni: i + 1,
      peer: { address: LOOPBACK, port: hostPorts[i]! },
    }))
    this.#switch = new SwitchClient(
      this.#spawn('the switch process', ['internal', 'switch', this.folder], true),
    )
    this.#key = keyFileOption(this.scenario, join(this.folder, 'key'))
    for (const link of links) this.#spawnDaemon(link, hub.port)
    await this.#switch.up()
    const { captures } = this.#options
    await this.#switch.ask({ type: 'start', scenario: this.scenario, local: hub, links, captures }, 'started')
    const connect = ({ name, address }: { name: string; address: string }) =>
      this.#hosts.connect({ name, address, inbox: this.#inbox(name) }, this.#socket(name))
    await Promise.all(hosts.map(connect))
  }

  #spawn(name: string, args: string[], ipc: boolean): Child {
    const child = new Child(name, args, ipc, error => this.#fail(error))
    this.#children.push(child)
    return child
  }

  #spawnDaemon({ host, vni, peer }: HostLink, hubPort: number): void {
    const inbox = this.#inbox(host)
    mkdirSync(inbox, { mode: 0o700 })
    const link = `vni=${vni},local=${peer.address}:${peer.port},peer=${LOOPBACK}:${hubPort}`
    // The environment may name a port that cannot do what frames in VXLAN can.
    const place = { socket: this.#socket(host), inbox, overlay: link, io: 'auto', ...this.#key }
    const args = daemonArguments(this.scenario, host, place)
    this.#spawn(`the daemon of ${host}`, args, false)
  }

  #socket(host: string): string {
    return join(this.folder, `${host}.sock`)
  }

  #inbox(host: string): string {
    return join(this.folder, `inbox-${host}`)
  }

  /** The process ends without `down`, so the children are killed. */
  #abandon(): void {
    for (const child of this.#children) child.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
