/** The links of a network while it runs: what is set of each, by events or by hand, and what became of its frames. */
import { WeirError } from '../../lib/errors.js'
import { textOf } from '../../lib/options/value.js'
import type { Link, LinkEnd, Scenario } from '../../lib/scenario/model/scenario.js'
import { linkName, portName, Topology } from '../../lib/scenario/model/topology.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { type FaultCounts, LinkFaults } from '../../lib/sim/faults.js'
import { LINK_OPTIONS, type LinkSettings } from '../../lib/sim/link-options.js'
import type { Network } from '../../lib/sim/network.js'
import type { Random } from '../../lib/sim/random.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { Switch } from '../core/switch.js'
import type { HostLinkEnd } from './host-link-end.js'
import { SettingsStack } from './settings-stack.js'

/** A node of the network as its links need it. */
interface LinkNode {
  id: number
  /** A switch, or what is at a host's end. */
  node: Switch | HostLinkEnd
  isHost: boolean
}

interface LinksOptions {
  scenario: Pick<Scenario, 'hosts' | 'switches' | 'links'>
  network: Network
  /** Returns the node of that name, which exists once the network is complete. */
  nodeOf: (name: string) => LinkNode
  /** See `Fabric`. */
  hostsKeepDelays: boolean
  random: Random
  /** Called after a link has gone down or come up. */
  onChange: (now: Nanos, link: number, isUp: boolean) => void
}

const COUNTS = [
  'frames',
  'lost',
  'cut',
  'corrupted',
  'duplicated',
  'reordered',
] as const satisfies readonly (keyof FaultCounts)[]

/** One direction of a link. */
class Direction {
  readonly from: LinkEnd
  readonly to: LinkEnd
  readonly set = new SettingsStack()
  /** Null: nothing has been set of it yet. */
  faults: LinkFaults | null = null
  readonly before: FaultCounts = { frames: 0, lost: 0, cut: 0, corrupted: 0, duplicated: 0, reordered: 0 }

  constructor(from: LinkEnd, to: LinkEnd) {
    this.from = from
    this.to = to
  }
}

/** A link, of which both directions go down and come up together. */
interface FullLink {
  index: number
  link: Link
  directions: readonly [Direction, Direction]
  isUp: boolean
}

/** All links of a scenario, by the end from which a direction leads away. */
export class Links {
  readonly #options: LinksOptions
  readonly #topology: Topology
  readonly #links: readonly FullLink[]
  readonly #byEnd = new Map<string, { link: FullLink; direction: Direction }>()

  constructor(options: LinksOptions) {
    this.#options = options
    this.#topology = new Topology(options.scenario)
    this.#links = options.scenario.links.map((link, index) => {
      const directions = [new Direction(link.a, link.b), new Direction(link.b, link.a)] as const
      return { index, link, directions, isUp: true }
    })
    for (const link of this.#links) {
      for (const direction of link.directions) this.#byEnd.set(keyOf(direction.from), { link, direction })
    }
  }

  /** The directions into and out of a node. */
  endsOf(node: string): LinkEnd[] {
    const links = this.#links.filter(({ link }) => link.a.node === node || link.b.node === node)
    return links.flatMap(({ directions }) => directions.map(({ from }) => from))
  }

  isUp(link: number): boolean {
    return this.#links[link]!.isUp
  }

  /** Sets what is given, until it is set again or reset. */
  set(now: Nanos, ends: readonly LinkEnd[], settings: LinkSettings): void {
    this.#change(now, ends, direction => direction.set.set(settings))
  }

  /** Sets what is given until `end` is called with the same owner. Later settings cover earlier ones. */
  begin(now: Nanos, ends: readonly LinkEnd[], settings: LinkSettings, owner: number): void {
    this.#change(now, ends, direction => direction.set.begin(owner, settings))
  }

  end(now: Nanos, ends: readonly LinkEnd[], owner: number): void {
    this.#change(now, ends, direction => direction.set.end(owner))
  }

  /** The links are as the scenario says. Events that last end. */
  reset(now: Nanos, ends: readonly LinkEnd[]): void {
    this.#change(now, ends, direction => direction.set.clear())
  }

  /** Starts a new window of counts. */
  resetWindow(): void {
    for (const { faults, before } of this.#byEndOrder()) {
      for (const key of COUNTS) before[key] = faults?.[key] ?? 0
    }
  }

  /** The directions of which something has been set so far, those of `ends` alone if these are given. */
  results(ends?: readonly LinkEnd[]): LinkResult[] {
    const keys = ends && new Set(ends.map(keyOf))
    const all = this.#links.flatMap(({ directions }) => directions)
    return all
      .filter(({ from, faults }) => (keys === undefined ? faults !== null : keys.has(keyOf(from))))
      .map(({ from, to, set, faults, before }) => ({
        name: portName(this.#topology, from.node, from.port),
        link: linkName(this.#topology, from.node, from.port),
        from: from.node,
        to: to.node,
        set: settingsText(set.effective()),
        ...(Object.fromEntries(
          COUNTS.map(key => [key, (faults?.[key] ?? 0) - before[key]]),
        ) as unknown as FaultCounts),
      }))
  }

  #byEndOrder(): Direction[] {
    return this.#links.flatMap(({ directions }) => directions)
  }

  #change(now: Nanos, ends: readonly LinkEnd[], act: (direction: Direction) => void): void {
    const changed = new Set<FullLink>()
    for (const end of ends) {
      const found = this.#byEnd.get(keyOf(end))
      if (found === undefined)
        throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${end.port} of ${end.node} has no link`)
      act(found.direction)
      changed.add(found.link)
    }
    for (const link of changed) this.#apply(now, link)
  }

  #apply(now: Nanos, link: FullLink): void {
    for (const direction of link.directions) this.#applyDirection(now, direction, link.link)
    this.#applyDelays(link)
    const isUp = link.directions.every(({ set }) => set.effective().down !== true)
    if (isUp === link.isUp) return
    link.isUp = isUp
    for (const direction of link.directions) this.#setUp(now, direction, isUp)
    this.#options.onChange(now, link.index, isUp)
  }

  #applyDirection(now: Nanos, direction: Direction, { rateBps }: Link): void {
    const { from, set } = direction
    const {
      loss,
      burst,
      burstLoss,
      corruption,
      duplication,
      reorder,
      reorderByNs,
      jitterNs,
      rate = rateBps,
    } = set.effective()
    this.#faultsOf(direction).set({
      loss,
      burst,
      burstLoss,
      corruption,
      duplication,
      reorder,
      reorderNs: reorderByNs,
      jitterNs,
    })
    const { id, node } = this.#options.nodeOf(from.node)
    if (isSwitch(node)) node.setRate(now, from.port, rate)
    else node.setLinkRate?.(now, rate)
    this.#options.network.kick(id, now)
  }

  #faultsOf(direction: Direction): LinkFaults {
    const { network, nodeOf, random } = this.#options
    const { from } = direction
    if (direction.faults !== null) return direction.faults
    const { id } = nodeOf(from.node)
    const own = random.fork(keyOf(from))
    const faults = network.faultsAt(id, from.port) ?? new LinkFaults({}, () => own.next())
    network.setFaults(id, from.port, faults)
    direction.faults = faults
    return faults
  }

  /** The delay is kept by the network, or by the node at the host's end. */
  #applyDelays({ link, directions }: FullLink): void {
    const { network, nodeOf, hostsKeepDelays } = this.#options
    const [ab, ba] = directions
    const delayOf = ({ set }: Direction) => set.effective().delayNs ?? link.delayNs
    for (const [out, back] of [
      [ab, ba],
      [ba, ab],
    ] as const) {
      const { node, isHost } = nodeOf(out.from.node)
      if (isHost && hostsKeepDelays) {
        ;(node as HostLinkEnd).setLinkDelay?.(delayOf(back), delayOf(out))
        return
      }
    }
    for (const direction of directions) {
      const { from } = direction
      network.setDelay(nodeOf(from.node).id, from.port, delayOf(direction))
    }
  }

  /** One direction goes down or comes up, with the port that sends into it. */
  #setUp(now: Nanos, direction: Direction, isUp: boolean): void {
    const { network, nodeOf } = this.#options
    const { from, to } = direction
    const faults = this.#faultsOf(direction)
    faults.isDown = !isUp
    const { id, node } = nodeOf(from.node)
    if (!isUp) {
      const far = nodeOf(to.node)
      faults.cut += network.cut(id, from.port)
      if (far.isHost) faults.cut += (far.node as HostLinkEnd).cutLink?.(now) ?? 0
    }
    if (isSwitch(node)) node.setLink(now, from.port, isUp)
    network.kick(id, now)
  }
}

/** Returns what is set of a link for people: `down loss=1% delay=5ms`. Empty: nothing. */
export function settingsText(settings: LinkSettings): string {
  return LINK_OPTIONS.flatMap(option => {
    const value = (settings as Record<string, unknown>)[
      option.kind === 'time' ? `${option.name}Ns` : option.name
    ]
    if (value === undefined) return []
    if (option.kind === 'flag') return value ? [option.name] : []
    const text =
      option.kind === 'share'
        ? `${Number(((value as number) * 100).toPrecision(12))}%`
        : textOf(option, value)
    return [`${option.name}=${text}`]
  }).join(' ')
}

function keyOf({ node, port }: LinkEnd): string {
  return `${node}:${port}`
}

function isSwitch(node: Switch | HostLinkEnd): node is Switch {
  return 'setLink' in node
}
