import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkSocketPath } from '../../lib/control/socket-path.js'
import { WeirError } from '../../lib/errors.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import type { CapturePlace } from '../captures/port-captures.js'
import { refuseHostHop } from '../host-hop.js'
import { Child } from '../real-time/child.js'
import { aborted, type Lab, type LabHost, LabHosts, type LabUpOptions } from '../real-time/lab.js'
import type { LinkChange, Ports, SwitchReport } from '../real-time/real-time-fabric.js'
import { SwitchClient } from '../real-time/switch-client.js'
import type { SwitchQuestion, SwitchReply } from '../real-time/switch-messages.js'
import { type KeeperStart, RELEASE } from './keeper-messages.js'
import {
  allLabs,
  claimLab,
  daemonSocket,
  forgetLab,
  inboxOf,
  LAB_MARK,
  type LabState,
  resolveFile,
} from './lab-state.js'
import { inNewNamespaces } from './namespaces.js'
import { planHosts } from './network-plan.js'
import { identify } from './processes.js'
import { LABS_VARIABLE, labsFolder } from './runtime-folder.js'
import { takeDown } from './take-down.js'
import { checkVeth } from './veth-support.js'

/** The reason for a keeper's end may become known a moment after it. */
const LAST_WORDS_MS = 1000

/** The port of a lab's daemons by default. */
export const DEFAULT_IO = 'packet'
/**
 * Ports that may know how much waits for a host. A daemon with another port refuses the setting by itself.
 */
const KNOWS_WHAT_WAITS = ['auto', 'batch']

interface VethLabOptions extends LabUpOptions {
  /** Name of the lab. Default: an unused one. */
  name?: string
  /** The port of the daemons, for `--io`. Default 'packet', which sees ECN marks and obeys PFC. */
  io?: string
  /**
   * A folder for received files of each host. It remains when the lab ends. Default: they are removed with
   * the lab.
   */
  inbox?: string
}

/**
 * A scenario's network of namespaces and veth pairs, at the process that brought it up. It is taken down when
 * this process ends in any way, unless it was released.
 */
export class VethLab implements Lab {
  readonly on = 'veth'
  readonly scenario: Scenario
  readonly state: LabState
  /** Rejects when a process of the lab ends by itself. Never resolves. */
  readonly failed: Promise<never>
  readonly #hosts = new LabHosts()
  readonly #keeper: Child
  readonly #client: SwitchClient<KeeperStart>
  #fail: (error: WeirError) => void = () => {}
  #released = false

  /**
   * Brings everything up, or takes everything down again. Throws WEIR_UNSUPPORTED where the machine forbids
   * it.
   */
  static async up(scenario: Scenario, options: VethLabOptions = {}, signal?: AbortSignal): Promise<VethLab> {
    const state = prepare(scenario, options)
    const lab = new VethLab(scenario, state)
    try {
      await Promise.race([lab.#start(), lab.failed, aborted(signal)])
      return lab
    } catch (error) {
      await lab.down()
      throw error
    }
  }

  private constructor(scenario: Scenario, state: LabState) {
    this.scenario = scenario
    this.state = state
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {})
    const settings = [`${LAB_MARK}=${state.id}`, `${LABS_VARIABLE}=${labsFolder()}`]
    const within = ['env', ...settings, ...inNewNamespaces(state.privilege)]
    const onExit = (error: WeirError) => this.#fail(error)
    this.#keeper = new Child('the keeper', ['internal', 'lab-keeper'], true, onExit, within)
    this.#client = new SwitchClient(this.#keeper)
  }

  host(name: string): LabHost {
    return this.#hosts.get(name)
  }

  async begin(atUnixMs?: number): Promise<void> {
    await this.#ask({ type: 'begin', atUnixMs }, 'begun')
  }

  async ports(): Promise<Ports> {
    return await this.#ask({ type: 'ports' }, 'ports')
  }

  async report(): Promise<SwitchReport> {
    return (await this.#ask({ type: 'report' }, 'report')).report
  }

  async setLinks(change: LinkChange): Promise<LinkResult[]> {
    return (await this.#ask({ type: 'setLinks', ...change }, 'linksSet')).links
  }

  /** The lab remains when this process ends, and `down` has no effect on it. `takeDown` ends it. */
  async release(): Promise<void> {
    const answered = new Promise<void>((resolve, reject) => {
      this.#keeper.process.on('message', (message: { type: string }) => {
        if (message.type === RELEASE) resolve()
      })
      this.failed.catch(reject)
    })
    this.#keeper.process.send({ type: RELEASE })
    await answered
    this.#released = true
    this.#hosts.close()
    this.#keeper.release()
  }

  async down(): Promise<void> {
    if (this.#released) return
    this.#hosts.close()
    await this.#keeper.stop()
    await takeDown(this.state)
  }

  async #start(): Promise<void> {
    const { name: lab, hosts } = this.state
    await this.#client.up()
    await this.#ask({ type: 'start', lab, scenario: this.scenario }, 'started')
    const connect = ({ name, address }: { name: string; address: string }) =>
      this.#hosts.connect({ name, address, inbox: inboxOf(this.state, name) }, daemonSocket(lab, name))
    await Promise.all(hosts.map(connect))
  }

  /** When the lab has failed, this throws the reason, and not an error that follows from it. */
  async #ask<K extends SwitchReply['type']>(request: KeeperStart | SwitchQuestion, answer: K) {
    try {
      return await this.#client.ask(request, answer)
    } catch (error) {
      if (!this.#keeper.running) await Promise.race([this.failed, sleep(LAST_WORDS_MS)])
      throw error
    }
  }
}

/** Throws WEIR_BAD_STATE when another lab uses the same files. */
function checkCaptures(captures: CapturePlace | undefined): void {
  const other = allLabs().find(lab => captures !== undefined && lab.captures?.folder === captures.folder)
  if (other === undefined) return
  const text = `${captures!.folder} holds the captures of lab ${other.name}, which is up: choose another folder with --pcap`
  throw new WeirError('WEIR_BAD_STATE', text)
}

/** Makes all checks before the start, and takes the lab's name. */
function prepare(scenario: Scenario, options: VethLabOptions): LabState {
  const { io = DEFAULT_IO } = options
  if (!KNOWS_WHAT_WAITS.includes(io))
    refuseHostHop(scenario, `with io ${io}`, 'the kernel does not tell it how much waits')
  const hosts = planHosts(scenario)
  const privilege = checkVeth()
  checkCaptures(options.captures)
  const id = randomUUID()
  const state: LabState = {
    version: 1,
    name: options.name ?? `run-${process.pid}-${randomUUID().slice(0, 8)}`,
    id,
    file: resolveFile(scenario.file) ?? scenario.file,
    startedUnixMs: Date.now(),
    owner: identify(process.pid)!,
    privilege,
    io,
    // Nobody can guess the name. The folder is made after the state names it, so that `weir lab down` finds
    // it in every case.
    dataFolder: join(tmpdir(), `weir-lab-${id}`),
    ...(options.inbox !== undefined && { inboxFolder: resolve(options.inbox) }),
    ...(options.captures !== undefined && { captures: options.captures }),
    namespaces: [],
    hosts,
    processes: [],
    up: false,
  }
  const mend = `set ${LABS_VARIABLE} to a folder with a shorter path, or give a shorter name`
  for (const { name } of hosts) checkSocketPath(daemonSocket(state.name, name), mend)
  try {
    claimLab(state)
    mkdirSync(state.dataFolder, { mode: 0o700 })
  } catch (error) {
    forgetLab(state)
    throw error
  }
  return state
}
