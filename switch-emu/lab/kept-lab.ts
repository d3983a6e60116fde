import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { ZONES_MAX } from '../../lib/inof/zones.js'
import { makeFolder } from '../../lib/make-folder.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import {
  OUTSIDE_DEVICE,
  OUTSIDE_PREFIX_BITS,
  reflectorAddresses,
  switchAddress,
} from '../network/inof-network.js'
import { Child } from '../real-time/child.js'
import { daemonArguments } from '../real-time/daemon-arguments.js'
import { keyFileOption } from '../real-time/scenario-key.js'
import { SwitchClient } from '../real-time/switch-client.js'
import type { SwitchQuestion, SwitchReply } from '../real-time/switch-messages.js'
import type { VethStart } from '../veth/veth-messages.js'
import { endLeftovers } from './end-leftovers.js'
import type {
  KeeperStart,
  KeeperStatus,
  PfcOnRequest,
  SetLinkRequest,
  SetZoneRequest,
} from './keeper-messages.js'
import { writeCommands } from './lab-commands.js'
import {
  daemonSocket,
  forgetLab,
  inboxOf,
  type LabState,
  labFolder,
  namespaceFile,
  readState,
  writeState,
} from './lab-state.js'
import { type LinkState, linkStates } from './link-states.js'
import { inNetwork, WITH_OWN_SYS } from './namespaces.js'
import { hostCommands, hostsFile, moveCommands, pairCommands, peerName } from './network-plan.js'
import { turnOffloadsOff } from './offloads.js'
import { identify, netNamespaceOf } from './processes.js'
import { runCommand } from './run-command.js'

/** The lab within its keeper: the network in this process's namespaces, and the processes in it. */
export class KeptLab {
  readonly #start: KeeperStart
  readonly #state: LabState
  readonly #onLoss: (error: WeirError) => void
  readonly #children: Child[] = []
  readonly #said = new Map<string, string>()
  /** Files on which the hosts' namespaces are mounted. */
  readonly #mounted: string[] = []
  #switch: SwitchClient<VethStart> | null = null
  #isDown = false

  /** @param onLoss called when a process of the lab ends by itself */
  constructor(start: KeeperStart, onLoss: (error: WeirError) => void) {
    const state = readState(start.lab)
    if (state === null) throw new WeirError('WEIR_CANCELLED', `lab ${start.lab} has been taken down`)
    this.#start = start
    this.#state = state
    this.#onLoss = onLoss
  }

  /** The processes that were started, whether they still run, and the last message of those that do not. */
  get processes(): KeeperStatus['processes'] {
    return this.#children.map(({ name, process, running }) => ({
      name,
      pid: process.pid ?? 0,
      alive: running,
      said: this.#said.get(name) ?? '',
    }))
  }

  /** States of the hosts' links, in the order of the hosts. */
  get links(): LinkState[] {
    return linkStates(this.#state.hosts.map(host => host.interface))
  }

  /** Writes each step to disk before the next one. */
  async up(): Promise<void> {
    const state = this.#state
    state.keeper = identify(process.pid)!
    state.namespaces = [netNamespaceOf('self')!]
    this.#write()
    writeCommands(state.name)
    await this.#nameHosts()
    await this.#makeNamespaces()
    this.#write()
    await this.#plug()
    await this.#plugReflectors()
    await this.#startProcesses()
    state.up = true
    this.#write()
  }

  async askSwitch(question: SwitchQuestion): Promise<SwitchReply> {
    if (this.#switch === null) throw new WeirError('WEIR_BAD_STATE', 'the lab has no switch process yet')
    const answers = {
      begin: 'begun',
      ports: 'ports',
      report: 'report',
      pfcOn: 'pfcOn',
      setLinks: 'linksSet',
      setZone: 'zoneSet',
    } as const
    return await this.#switch.ask(question, answers[question.type])
  }

  /** Turns PFC of a port on again. See `PfcOnRequest`. */
  async turnPfcOn({ port, priority }: PfcOnRequest): Promise<{ port: string; priority: number }[]> {
    const { scenario } = this.#start
    // A static import would load the schema and delay every start of a lab.
    const { portNames, portsOf } = await import('../../lib/scenario/read/ports.js')
    const hops = portsOf(scenario, port)
    const { node } = hops[0]!
    const { pfc } = scenario.switches.find(({ name }) => name === node)!
    if (pfc?.watchdog?.limit === undefined) {
      const text = `${node} has no watchdog with a limit, which alone turns PFC off: give it one in ${scenario.file}`
      throw new WeirError('WEIR_BAD_ARGUMENT', text)
    }
    if (priority !== undefined && !pfc.priorities.includes(priority)) {
      const text = `priority ${priority} is lossy at ${node}; lossless are ${pfc.priorities.join(', ')}`
      throw new WeirError('WEIR_BAD_ARGUMENT', text)
    }
    const ports = hops.map(hop => hop.port)
    const reply = await this.askSwitch({ type: 'pfcOn', switch: node, ports, priority })
    if (reply.type !== 'pfcOn')
      throw new WeirError('WEIR_PROTOCOL', `the switch process answered ${reply.type}`)
    const names = portNames(scenario, hops)
    return reply.restored.flatMap((priorities, i) =>
      priorities.map(one => ({ port: names[i]!, priority: one })),
    )
  }

  /** Sets a zone of iNOF at the reflectors. See `SetZoneRequest`. */
  async setZone({ zone, hosts }: SetZoneRequest): Promise<string[]> {
    const { scenario } = this.#start
    const { name, file, inof } = scenario
    if (inof === undefined) {
      const text = `the hosts of lab ${name} do not announce themselves; add inof: {} to ${file}, and bring the lab up again`
      throw new WeirError('WEIR_BAD_STATE', text)
    }
    if (inof.external || inof.reflectors === 0) {
      const text = inof.external
        ? 'zones are set at the reflectors, which are your own (inof.external): change their configuration'
        : `zones are set at reflectors, and ${file} has none; set inof.reflectors to 1 or more`
      throw new WeirError('WEIR_BAD_STATE', text)
    }
    if (!Number.isInteger(zone) || zone < 0 || zone >= ZONES_MAX)
      throw new WeirError('WEIR_BAD_ARGUMENT', `a zone is a whole number from 0 to ${ZONES_MAX - 1}`)
    const [{ expandNames }, { offer }] = await Promise.all([
      import('../../lib/scenario/model/names.js'),
      import('../../lib/offer.js'),
    ])
    const known = scenario.hosts.map(host => host.name)
    const members = new Set<string>()
    for (const text of hosts) {
      const names = expandNames(text)
      if ('wrong' in names) throw new WeirError('WEIR_BAD_ARGUMENT', names.wrong)
      for (const one of names) {
        if (!known.includes(one))
          throw new WeirError(
            'WEIR_BAD_ARGUMENT',
            `no host is called '${one}'; there are ${offer(one, known)}`,
          )
        members.add(one)
      }
    }
    await this.askSwitch({ type: 'setZone', zone, hosts: [...members] })
    return [...members]
  }

  /** Changes a link. See `SetLinkRequest`. */
  async setLink({ link, settings, reset }: SetLinkRequest): Promise<LinkResult[]> {
    const [{ linkEndsOf }, { whyNotSet }] = await Promise.all([
      import('../../lib/scenario/read/link-ends.js'),
      import('../../lib/scenario/read/events/link.js'),
    ])
    const { ends, bothWays } = linkEndsOf(this.#start.scenario, link)
    const wrong = whyNotSet(settings, link, bothWays)
    if (wrong !== null) throw new WeirError('WEIR_BAD_ARGUMENT', wrong.message)
    const reply = await this.askSwitch({ type: 'setLinks', ends, settings, reset })
    if (reply.type !== 'linksSet')
      throw new WeirError('WEIR_PROTOCOL', `the switch process answered ${reply.type}`)
    return reply.links
  }

  /** Ends all processes of the lab, including those of `weir lab exec`, and removes its files. */
  async down(): Promise<void> {
    this.#isDown = true
    // The daemons end first, because the switch still carries their disconnects.
    const [sw, ...daemons] = this.#children
    await Promise.all(daemons.map(child => child.stop()))
    await sw?.stop()
    await endLeftovers(this.#state)
    // In this process's mount namespace the files are still mount points, which cannot be removed.
    const files = this.#mounted.splice(0)
    for (const file of files) await runCommand(['umount', '--lazy', file]).catch(() => {})
    forgetLab(this.#state)
  }

  /** Writes the hosts' names for everything that runs in the lab. */
  async #nameHosts(): Promise<void> {
    const file = join(labFolder(this.#state.name), 'hosts')
    const machines = existsSync('/etc/hosts') ? readFileSync('/etc/hosts', 'utf8') : ''
    writeFileSync(file, hostsFile(this.#state.hosts, machines))
    if (existsSync('/etc/hosts')) await runCommand(['mount', '--bind', file, '/etc/hosts'])
  }

  /** Makes one namespace for each host, as a file by which it can be entered. */
  async #makeNamespaces(): Promise<void> {
    const { name, hosts, namespaces } = this.#state
    mkdirSync(join(labFolder(name), 'net'))
    for (const host of hosts) {
      const file = namespaceFile(name, host.name)
      writeFileSync(file, '')
      this.#mounted.push(file)
      const link = await runCommand(['unshare', `--net=${file}`, '--', 'readlink', '/proc/self/ns/net'])
      namespaces.push(link.trim())
    }
  }

  async #plug(): Promise<void> {
    const { name, hosts } = this.#state
    const hasIpv6 = existsSync('/proc/sys/net/ipv6')
    await ip([], pairCommands(hosts, hasIpv6))
    // Before they move, because this process sees only its own namespace. An interface keeps the setting.
    turnOffloadsOff(hosts.flatMap((host, i) => [host.interface, peerName(i)]))
    await ip(
      [],
      moveCommands(hosts, host => namespaceFile(name, host)),
    )
    for (const host of hosts)
      await ip(inNetwork(namespaceFile(name, host.name)), hostCommands(host, hosts, hasIpv6))
  }

  /** The switches and the reflectors outside have addresses in the switches' namespace. */
  async #plugReflectors(): Promise<void> {
    const { inof, switches } = this.#start.scenario
    if (!inof?.external) return
    const [device, peer] = [OUTSIDE_DEVICE, `${OUTSIDE_DEVICE}p`]
    const addresses = [...reflectorAddresses(inof.reflectors), ...switches.map(({ id }) => switchAddress(id))]
    await ip(
      [],
      [
        `link add ${device} type veth peer name ${peer}`,
        ...addresses.map(address => `addr add ${address}/${OUTSIDE_PREFIX_BITS} dev ${device}`),
        `link set ${device} up`,
        `link set ${peer} up`,
      ],
    )
  }

  async #startProcesses(): Promise<void> {
    const { name, hosts, io, captures } = this.#state
    const { scenario } = this.#start
    const folder = join(labFolder(name), 'switch')
    mkdirSync(folder)
    this.#switch = new SwitchClient(
      this.#spawn('the switch process', ['internal', 'veth-switch', folder], true, []),
    )
    const key = keyFileOption(scenario, join(folder, 'key'))
    for (const host of hosts) {
      const inbox = inboxOf(this.#state, host.name)
      makeFolder(inbox, {
        use: `the inbox of ${host.name}`,
        mend: 'choose another with --inbox',
        mode: 0o700,
      })
      const place = { socket: daemonSocket(name, host.name), inbox, io, ...key }
      const args = daemonArguments(scenario, host.name, place)
      const within = [...inNetwork(namespaceFile(name, host.name)), ...WITH_OWN_SYS]
      this.#spawn(`the daemon of ${host.name}`, args, false, within)
    }
    this.#write()
    await this.#switch.up()
    const links = hosts.map(host => ({ host: host.name, interface: host.interface }))
    await this.#switch.ask({ type: 'start', scenario, links, captures }, 'started')
  }

  /**
   * Throws WEIR_CANCELLED once the lab is being taken down: a process that starts later is ended by nobody, and would make
   * the lab's folders anew.
   */
  #spawn(name: string, args: string[], ipc: boolean, within: readonly string[]): Child {
    this.#checkNotDown()
    const onLoss = (error: WeirError) => {
      this.#said.set(name, error.message)
      this.#onLoss(error)
    }
    const child = new Child(name, args, ipc, onLoss, within)
    this.#children.push(child)
    const id = child.process.pid === undefined ? null : identify(child.process.pid)
    if (id !== null) this.#state.processes.push({ name, ...id })
    return child
  }

  #write(): void {
    this.#checkNotDown()
    writeState(this.#state)
  }

  #checkNotDown(): void {
    if (this.#isDown) throw new WeirError('WEIR_CANCELLED', 'the lab is being taken down')
  }
}

/** Runs lines by iproute2 in a namespace. */
async function ip(within: readonly string[], lines: readonly string[]): Promise<void> {
  await runCommand([...within, 'ip', '-batch', '-'], `${lines.join('\n')}\n`)
}
