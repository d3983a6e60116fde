import { OutsideNetwork, type StreamCommand, type StreamEvent } from '../../lib/bgp/outside-network.js'
import { assert, WeirError } from '../../lib/errors.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { ChangeLog } from '../../lib/inof/change-log.js'
import type { Link, Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import type { TimelineEntry } from '../../lib/scenario/result/result.js'
import type { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import type { Observer } from '../../lib/sim/station.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { PortCaptures } from '../captures/port-captures.js'
import type { IpAnswers } from '../core/answers/ip-answers.js'
import { PfcWatchdog } from '../core/pfc/pfc-watchdog.js'
import { Switch } from '../core/switch.js'
import { portLinks } from '../node-links.js'
import { NetworkEvents } from './events/network-events.js'
import type { HostLinkEnd } from './host-link-end.js'
import { InofNetwork, inofOptions } from './inof-network.js'
import { Links } from './links.js'
import { Routing } from './routing.js'
import { switchOptions } from './switch-options.js'
import { innerMtuBytes } from './vtep-options.js'

interface FabricOptions {
  pool: FramePool
  /** Uniform in [0, 1): for marking. */
  random: () => number
  /** Time at which the network begins. Default 0. */
  startNs?: Nanos
  /** Captures of every switch port. Default: nothing is captured. */
  captures?: PortCaptures
  /** Answers of a switch by itself. Default: none. */
  responder?: (switchId: number) => IpAnswers
  /** Bytes of the longest IP packet on the links. Default: only frames' slots are the bound. */
  mtuBytes?: number
  /** True: the nodes of hosts themselves add the delay of their links, both ways. Default false. */
  hostsKeepDelays?: boolean
  /** What happens to frames on their way from a node to its neighbour. Default: nothing. */
  faults?: FaultsOf
  /** Carries bytes to reflectors outside: what is to be done for their connections. Default: there are none. */
  outside?: (command: StreamCommand) => void
}

/** The faults of one direction of a link, by the names of its ends; null: none. */
export type FaultsOf = (from: string, to: string) => LinkFaults | null

/**
 * The network of a scenario without its hosts: switches with their routes, joined by links. The caller
 * attaches hosts as nodes: NICs in virtual time, ends of VXLAN links in the overlay.
 */
export class Fabric {
  readonly network: Network
  /** In the scenario's order. */
  readonly switches: readonly Switch[]
  /** Those that are not plugged in yet. */
  readonly #unplugged: Link[]
  readonly #hosts: ReadonlySet<string>
  readonly #hostsKeepDelays: boolean
  readonly #faultsOf: FaultsOf
  /** Node name → its id in the network. Hosts are added when they are attached. */
  readonly #ids = new Map<string, number>()
  readonly #hostEnds = new Map<string, HostLinkEnd>()
  /** What is set of the links, and what became of their frames. */
  readonly links: Links
  readonly #routing: Routing
  readonly #routingId: number
  readonly #staticRoutesId: number
  readonly #topology: Topology
  readonly #events: NetworkEvents
  readonly #eventsId: number
  /** Null: hosts do not announce themselves. */
  readonly #inof: InofNetwork | null

  constructor(scenario: Scenario, options: FabricOptions) {
    this.network = new Network({ pool: options.pool, startNs: options.startNs })
    this.#unplugged = [...scenario.links]
    this.#hosts = new Set(scenario.hosts.map(host => host.name))
    this.#hostsKeepDelays = options.hostsKeepDelays ?? false
    this.#faultsOf = options.faults ?? (() => null)
    const log = scenario.inof && new ChangeLog()
    this.switches = scenario.switches.map(
      sw =>
        new Switch({
          ...switchOptions(
            scenario,
            sw,
            portLinks(scenario, sw.name),
            log && inofOptions(scenario, sw.name, sw.id, log),
          ),
          pool: options.pool,
          random: options.random,
          responder: options.responder?.(sw.id),
          mtuBytes: leastOf(options.mtuBytes, innerMtuBytes(scenario, sw.name)),
          startNs: options.startNs,
        }),
    )
    this.#routing = new Routing(scenario, this.switches)
    this.#staticRoutesId = this.network.addNode(this.#routing.staticRoutes)
    this.#topology = new Topology(scenario)
    const random = new Random(scenario.seed)
    this.#events = new NetworkEvents(this, scenario.events ?? [], random.fork('events'))
    this.#eventsId = this.network.addNode(this.#events)
    this.#routingId = this.network.addNode(this.#routing)
    this.links = new Links({
      scenario,
      network: this.network,
      nodeOf: name => this.#nodeOf(name),
      hostsKeepDelays: this.#hostsKeepDelays,
      random: random.fork('links'),
      onChange: (now, link, isUp) => {
        this.#routing.onLink(now, link, isUp)
        this.network.kick(this.#routingId, now)
      },
    })
    for (const sw of this.switches)
      this.#ids.set(sw.name, this.network.addNode(options.captures?.tap(sw.name, sw) ?? sw))
    this.#plugLinks()
    this.#inof =
      log === undefined ? null : this.#startInof(scenario, log, random.fork('inof'), options.outside)
    // A feature may have set a timer before any frame wakes the switch.
    for (const sw of this.switches) {
      if (sw.nextTimeout() !== NEVER) this.network.kick(this.#ids.get(sw.name)!)
    }
  }

  #startInof(
    scenario: Scenario,
    log: ChangeLog,
    random: Random,
    outside: FabricOptions['outside'],
  ): InofNetwork {
    const { network } = this
    if (scenario.inof!.external && outside === undefined) {
      const text =
        'inof.external: reflectors of your own need a lab (weir lab up) or --on veth; leave external out elsewhere'
      throw new WeirError('WEIR_BAD_ARGUMENT', text)
    }
    const inof: InofNetwork = new InofNetwork(
      scenario,
      log,
      random,
      now => network.kick(id, now),
      (now, sw) => network.kick(this.#ids.get(sw.name)!, now),
      scenario.inof!.external ? new OutsideNetwork(outside!) : null,
    )
    const id = network.addNode(inof)
    inof.start(network.now, this.switches)
    network.kick(id)
    return inof
  }

  /** Something has become of a connection to a reflector outside. */
  onStream(now: Nanos, event: StreamEvent): void {
    this.#inof?.onStream(now, event)
  }

  /** As `InofNetwork.heldUp`. */
  heldUp(now: Nanos): void {
    this.#inof?.heldUp(now)
  }

  /** As `InofNetwork.setZone`. */
  setZone(now: Nanos, zone: number, hosts: readonly string[]): void {
    this.#inof?.setZone(now, zone, hosts)
  }

  /** Which hosts are there, as the switches know it. Undefined: the scenario has no iNOF. */
  inof(): InofResult | undefined {
    return this.#inof?.result()
  }

  /**
   * Attaches a node for a host of the scenario, and its links. Returns its id in the network, for `kick`.
   * Throws WEIR_BAD_ARGUMENT for a name that is no host, or a host that has a node.
   */
  attach(host: string, node: HostLinkEnd): number {
    if (!this.#hosts.has(host)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `fabric: ${host} is no host; there are ${[...this.#hosts].join(', ')}`,
      )
    }
    if (this.#ids.has(host)) throw new WeirError('WEIR_BAD_ARGUMENT', `fabric: ${host} is attached already`)
    const id = this.network.addNode(node)
    this.#ids.set(host, id)
    this.#hostEnds.set(host, node)
    this.#plugLinks()
    return id
  }

  /** Looks at a switch or host from now on, as `Network.watch`. */
  watch(name: string, watch: Observer): void {
    this.network.watch(this.#nodeOf(name).id, watch)
  }

  /** The traffic starts: reports, and the times of static routes, count from `now`. */
  begin(now: Nanos): void {
    this.resetWindow(now)
    this.#inof?.begin(now)
    this.#routing.staticRoutes.start(now)
    this.network.kick(this.#staticRoutesId, now)
    this.#events.start(now)
    this.network.kick(this.#eventsId, now)
  }

  /** As `portName` of the topology. */
  portName(name: string, port: number): string {
    return portName(this.#topology, name, port)
  }

  /** The events that took place since `begin`, in order. */
  get timeline(): readonly TimelineEntry[] {
    return this.#events.timeline
  }

  /**
   * Turns PFC of ports on again where the watchdog's limit has turned it off.
   *
   * @param priority absent: all priorities
   * @returns the affected priorities of each port
   */
  turnPfcOn(now: Nanos, name: string, ports: readonly number[], priority?: number): number[][] {
    const sw = this.switches.find(one => one.name === name)
    if (sw === undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `fabric: ${name} is no switch`)
    const watchdog = sw.find(PfcWatchdog)
    const restored = ports.map(port => watchdog?.turnPortOn(now, port, priority) ?? [])
    this.network.kick(this.#ids.get(name)!, now)
    return restored
  }

  /** A switch restarts: what it holds is dropped, and its links are down until `links.end` with the same owner. */
  restart(now: Nanos, name: string, owner: number): void {
    const sw = this.switches.find(one => one.name === name)
    if (sw === undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `fabric: ${name} is no switch`)
    sw.restart(now)
    this.links.begin(now, this.links.endsOf(name), { down: true }, owner)
  }

  /** Starts a new window for the reports of all switches. */
  resetWindow(now: Nanos): void {
    for (const sw of this.switches) sw.resetWindow(now)
    this.links.resetWindow()
  }

  #nodeOf(name: string): { id: number; node: Switch | HostLinkEnd; isHost: boolean } {
    const id = this.#ids.get(name)
    const host = this.#hostEnds.get(name)
    const node = host ?? this.switches.find(sw => sw.name === name)
    assert(id !== undefined && node !== undefined, `${name} is not in the network yet`)
    return { id, node, isHost: host !== undefined }
  }

  /** Connects every link whose two nodes exist. */
  #plugLinks(): void {
    for (let i = 0; i < this.#unplugged.length; ) {
      const { a, b, delayNs } = this.#unplugged[i]!
      const idA = this.#ids.get(a.node)
      const idB = this.#ids.get(b.node)
      if (idA === undefined || idB === undefined) {
        i++
        continue
      }
      const isHostLink = this.#hosts.has(a.node) || this.#hosts.has(b.node)
      const ownDelayNs = isHostLink && this.#hostsKeepDelays ? 0 : delayNs
      const faults = { ab: this.#faultsOf(a.node, b.node), ba: this.#faultsOf(b.node, a.node) }
      this.network.connect(idA, a.port, idB, b.port, ownDelayNs, faults)
      this.#unplugged.splice(i, 1)
    }
  }
}

/** Undefined where nothing bounds packets. */
function leastOf(given: number | undefined, inner: number): number | undefined {
  return inner === Number.POSITIVE_INFINITY ? given : Math.min(given ?? inner, inner)
}
