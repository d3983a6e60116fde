/**
 * What the switches of an iNOF network have in common: reflectors, and the management network on which all of them speak BGP. It has no
 * faults but those of its members.
 */

import type { OutsideNetwork, StreamEvent } from '../../lib/bgp/outside-network.js'
import { Speaker } from '../../lib/bgp/speaker.js'
import { StreamNetwork } from '../../lib/bgp/stream-network.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import type { ChangeLog } from '../../lib/inof/change-log.js'
import { MemberState, zoneRoutes } from '../../lib/inof/routes.js'
import { DEFAULT_ZONE } from '../../lib/inof/zones.js'
import type { InofSettings, InofZone, Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import type { Random } from '../../lib/sim/random.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { formatIpv4, HostAddress } from '../../lib/wire/net/address.js'
import { InofEvent } from '../../lib/wire/weir/inof-tlv.js'
import { Inof, type InofNetworkEnd, type InofOptions } from '../core/inof/inof.js'
import type { Switch } from '../core/switch.js'
import { linksOf } from '../node-links.js'

/** Private addresses that hosts of scenarios do not have: reflector 1, 2 …, and a switch by its number. */
const REFLECTOR_BASE = 0xac1e_0000
const SWITCH_BASE = 0xac1f_0000
export const CLUSTER_ID = REFLECTOR_BASE
/** For so long switches keep what a reflector has said whose connection is lost. */
export const RESTART_SECONDS = 120
/** In the switches' namespace of a lab it has the addresses of switches and reflectors, where these are programs of their own. */
export const OUTSIDE_DEVICE = 'inof0'
/** Holds both ranges of addresses. */
export const OUTSIDE_PREFIX_BITS = 15
const EVENT_NAMES: Readonly<Record<number, string>> = {
  [InofEvent.ARRIVED]: 'arrived',
  [InofEvent.DEPARTED]: 'departed',
  [InofEvent.FAILED]: 'failed',
}

/** Returns the options of iNOF at one switch. */
export function inofOptions(scenario: Scenario, name: string, id: number, log: ChangeLog): InofOptions {
  const { as, reflectors, autoJoin, holdSeconds } = scenario.inof!
  const addresses = new Map(scenario.hosts.map(host => [host.name, HostAddress.parse(host.address).ipv4]))
  return {
    as,
    address: SWITCH_BASE + id,
    reflectors: reflectorAddresses(reflectors),
    hosts: linksOf(scenario, name).map(({ peer }) => addresses.get(peer.node) ?? 0),
    autoJoin,
    holdSeconds,
    log,
  }
}

export class InofNetwork implements Node, InofNetworkEnd {
  readonly #scenario: Scenario
  readonly #settings: InofSettings
  readonly #log: ChangeLog
  readonly #streams: StreamNetwork | OutsideNetwork
  /** Null: the reflectors are part of this network. */
  readonly #outside: OutsideNetwork | null
  readonly #reflectors: { address: string; speaker: Speaker }[] = []
  readonly #features: { sw: Switch; feature: Inof }[] = []
  readonly #random: Random
  readonly #onChanged: (now: Nanos) => void
  readonly #onTold: (now: Nanos, sw: Switch) => void
  /** As the reflectors of this network announce them now. */
  readonly #zonesNow: Map<number, readonly string[]>
  #running = false
  #startNs: Nanos = 0

  /**
   * @param onChanged it has something to do at another time than before
   * @param onTold a switch has heard something, and may have something to send
   * @param outside where the reflectors are, if they are programs of their own
   */
  constructor(
    scenario: Scenario,
    log: ChangeLog,
    random: Random,
    onChanged: (now: Nanos) => void,
    onTold: (now: Nanos, sw: Switch) => void,
    outside: OutsideNetwork | null,
  ) {
    this.#scenario = scenario
    this.#settings = scenario.inof!
    this.#log = log
    this.#random = random
    this.#onChanged = onChanged
    this.#onTold = onTold
    this.#outside = outside
    this.#zonesNow = new Map(zonesOf(this.#settings).map(({ zone, hosts }) => [zone, hosts]))
    this.#streams = outside ?? new StreamNetwork(() => this.#settings.delayNs)
  }

  /** Joins the switches. Those and the reflectors begin. */
  start(now: Nanos, switches: readonly Switch[]): void {
    for (const sw of switches) this.#features.push({ sw, feature: sw.find(Inof)! })
    if (this.#streams instanceof StreamNetwork)
      for (const address of reflectorAddresses(this.#settings.reflectors))
        this.#addReflector(now, address, this.#streams)
    for (const { feature } of this.#features) {
      this.#streams.add(feature.address, feature.speaker)
      feature.join(now, this)
    }
  }

  /** Times of results count from `now`. */
  begin(now: Nanos): void {
    this.#startNs = now
  }

  connect(now: Nanos, from: string, neighbour: number): void {
    this.#streams.connect(now, from, neighbour)
  }

  replaced(now: Nanos, feature: Inof): void {
    this.#streams.kill(now, feature.address)
    this.#streams.add(feature.address, feature.speaker)
  }

  changed(now: Nanos): void {
    if (!this.#running) this.#onChanged(now)
  }

  nextTimeout(): Nanos {
    return this.#streams.nextTimeout()
  }

  onTimeout(now: Nanos): void {
    this.#run(now, () => this.#streams.onTimeout(now))
  }

  /** Something has become of a connection to a reflector outside. */
  onStream(now: Nanos, event: StreamEvent): void {
    this.#run(now, () => this.#outside?.onEvent(now, event))
    this.#onChanged(now)
  }

  /**
   * Zones are set at the reflectors. @param hosts the zone's members from now on; none: the zone is gone, or the default zone has those alone
   * that join it by themselves
   */
  setZone(now: Nanos, zone: number, hosts: readonly string[]): void {
    const before = this.#zoneRoutes(zone, this.#zonesNow.get(zone) ?? [])
    const after = this.#zoneRoutes(zone, hosts)
    this.#zonesNow.set(zone, hosts)
    this.#run(now, () => {
      for (const { address, speaker } of this.#reflectors) {
        const nextHop = HostAddress.parse(address).ipv4
        for (const { prefix, largeCommunities } of after)
          speaker.announce(now, prefix, { nextHop, largeCommunities })
        for (const { prefix } of before)
          if (!after.some(route => route.prefix === prefix)) speaker.withdraw(now, prefix)
      }
    })
    this.#onChanged(now)
  }

  #zoneRoutes(zone: number, hosts: readonly string[]): ReturnType<typeof zoneRoutes> {
    const { as, autoJoin } = this.#settings
    const members = this.#scenario.hosts.filter(({ name }) => hosts.includes(name))
    return zoneRoutes(
      as,
      zone,
      members.map(({ address }) => HostAddress.parse(address).ipv4),
      autoJoin,
    )
  }

  /** The switches did not run for a time that ends at `now`, and have not read yet what has arrived in it. */
  heldUp(now: Nanos): void {
    for (const { feature } of this.#features) feature.heldUp(now)
    // Bytes inside come in the order of their times, however late that is.
    this.#outside?.onHeldUp(now)
  }

  #run(now: Nanos, what: () => void): void {
    this.#running = true
    what()
    this.#running = false
    for (const { sw } of this.#features) this.#onTold(now, sw)
  }

  onFrame(): void {}

  pollTransmit(): Frame | null {
    return null
  }

  /** What the switches know now, and what became of the changes so far. */
  result(): InofResult {
    const names = new Map(
      this.#scenario.hosts.map(({ name, address }) => [HostAddress.parse(address).ipv4, name]),
    )
    const nameOf = (address: number) => names.get(address) ?? formatIpv4(address)
    const topology = new Topology(this.#scenario)
    const linkOf = (link: number) => {
      const sw = this.#features.find(({ sw: one }) => one.id === link >>> 16)
      return sw === undefined
        ? `${link >>> 16}:${link & 0xffff}`
        : portName(topology, sw.sw.name, link & 0xffff)
    }
    return {
      hosts: this.#hosts(nameOf, linkOf),
      switches: this.#features.map(({ sw, feature: { agent, counters } }) => ({
        name: sw.name,
        members: agent.members().length,
        failedLinks: agent.failedLinks().map(linkOf),
        refused: counters.forged + agent.hurried,
        otherLldp: counters.otherLldp,
      })),
      zones: this.#zones(),
      peers: [
        ...this.#reflectors.map(({ address, speaker }) => ({ of: address, speaker })),
        ...this.#features.map(({ sw, feature }) => ({ of: sw.name, speaker: feature.speaker })),
      ].flatMap(({ of, speaker }) =>
        speaker.status().map(one => ({ of, ...one, address: this.#peerName(one.address) })),
      ),
      changes: this.#log.changes.map(({ atNs, address, event, told, heard, lastNs }) => ({
        atNs: atNs - this.#startNs,
        host: nameOf(address),
        event: EVENT_NAMES[event]!,
        told,
        heard,
        lastNs: heard === 0 ? null : lastNs,
      })),
    }
  }

  #hosts(nameOf: (address: number) => string, linkOf: (link: number) => string): InofResult['hosts'] {
    const known = this.#features.map(
      ({ feature }) => new Set(feature.agent.members().map(one => one.address)),
    )
    return this.#features
      .flatMap(({ sw, feature }) =>
        feature.agent.hosts().flatMap((host, port) => (host === null ? [] : [{ sw, port, host }])),
      )
      .map(({ sw, port, host: { address, kind, state, zones } }) => ({
        name: nameOf(address),
        address: formatIpv4(address),
        port: linkOf(sw.id * 0x1_0000 + port),
        state: state === MemberState.UP ? ('up' as const) : ('failed' as const),
        storage: kind === 1,
        zones: [...zones],
        knownBy: known.filter(set => set.has(address)).length,
      }))
  }

  #zones(): InofResult['zones'] {
    const hosts = this.#features.flatMap(({ feature }) => feature.agent.hosts()).filter(host => host !== null)
    const numbers = [...new Set(hosts.flatMap(({ zones }) => zones))].sort((a, b) => a - b)
    return numbers.map(zone => ({
      zone,
      hosts: hosts.filter(({ zones }) => zones.includes(zone)).map(({ address }) => formatIpv4(address)),
    }))
  }

  #peerName(address: string): string {
    return this.#features.find(({ feature }) => feature.address === address)?.sw.name ?? address
  }

  #addReflector(now: Nanos, address: string, streams: StreamNetwork): void {
    const { as, holdSeconds } = this.#settings
    const speaker: Speaker = new Speaker(
      {
        as,
        identifier: HostAddress.parse(address).ipv4,
        clusterId: CLUSTER_ID,
        holdSeconds,
        restartSeconds: RESTART_SECONDS,
        neighbours: this.#features.map(({ feature }) => ({
          address: feature.address,
          passive: true,
          client: true,
        })),
        random: () => this.#random.next(),
      },
      { connect: (at, to) => streams.connect(at, address, to), routeChanged: () => {} },
    )
    for (const [zone, hosts] of this.#zonesNow)
      for (const { prefix, largeCommunities } of this.#zoneRoutes(zone, hosts))
        speaker.announce(now, prefix, { nextHop: HostAddress.parse(address).ipv4, largeCommunities })
    streams.add(address, speaker)
    this.#reflectors.push({ address, speaker })
    speaker.start(now)
  }
}

/** The zones that reflectors set, the default zone among them. */
export function zonesOf({ zones }: InofSettings): InofZone[] {
  return zones.some(({ zone }) => zone === DEFAULT_ZONE)
    ? zones
    : [{ zone: DEFAULT_ZONE, hosts: [] }, ...zones]
}

export function switchAddress(id: number): string {
  return formatIpv4(SWITCH_BASE + id)
}

export function reflectorAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => formatIpv4(REFLECTOR_BASE + i + 1))
}
