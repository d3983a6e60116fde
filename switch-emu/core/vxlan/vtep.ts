import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as udp from '../../../lib/wire/net/udp.js'
import * as vxlan from '../../../lib/wire/net/vxlan.js'
import { WireError } from '../../../lib/wire/parse.js'
import { type FeatureReport, type FeatureSwitch, type SwitchFeature, UNDECIDED } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { AddressTable, NONE } from '../forwarding/address-table.js'
import { flowHash } from '../forwarding/ecmp.js'
import { dscp, ecn, setEcn, ttl } from '../forwarding/ip-header.js'
import { DropReason } from '../queueing/counters.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { ECN_DROP, ecnAtEgress, isDangerous, outerEcn } from './ecn-tunnel.js'
import { growthBytes, type TunnelEnd, takeOut } from './encapsulation.js'
import { REMOTES_FROM, Remote, VirtualNetwork, type VirtualNetworkOptions } from './virtual-network.js'

/** A switch that is an end of VXLAN tunnels. */
export interface VtepOptions extends TunnelEnd {
  networks: readonly VirtualNetworkOptions[]
}

/** What the end has done, by port: where packets went into a tunnel, came out of one, or were dropped. */
export interface VtepReport {
  encapsulated: number
  decapsulated: number
  /** Packets with an unusual pair of ECN fields, which figure 4 of RFC 6040 marks (!!!). Some are among the dropped ones. */
  unusualEcn: number
  dropped: { malformed: number; unknownVni: number; unknownVtep: number; ecn: number; tooBig: number }
}

/** Ports of the outer header's entropy: the dynamic ones (RFC 7348, section 5). */
const SOURCE_PORT_FIRST = 0xc000
const SOURCE_PORT_BITS = 14
const HASH_BITS = 31

const ENCAPSULATED = 0
const DECAPSULATED = 1
const UNUSUAL_ECN = 2
const DROPPED = 3
const DROP_REASONS = [
  DropReason.BAD_VXLAN,
  DropReason.UNKNOWN_VNI,
  DropReason.UNKNOWN_VTEP,
  DropReason.TUNNEL_ECN,
  DropReason.TUNNEL_TOO_BIG,
] as const
const COLUMNS = DROPPED + DROP_REASONS.length

/**
 * An end of VXLAN tunnels (RFC 7348). Packets of the hosts behind it that are for hosts behind other ends leave in a tunnel; what comes
 * in tunnels goes to its hosts. Ports to its hosts belong to one virtual network each. All other ports are the underlay: what comes in
 * there and is not for this end is forwarded by the routes.
 *
 * **Where.** A packet is taken out as it arrives, and put in as its first bit leaves. So within the switch it has its inner headers
 * alone, and all features act on the flow of the hosts: telemetry, fair rates, large flows, priorities. Memory counts it without the
 * outer headers, the line with them.
 *
 * **ECN overlay** (white paper on lossless networks; RFC 6040). The queue of an end treats a packet by what its outer header says, which
 * is there in the paper's devices. The ingress copies the inner field to the outer one, so that a mark of its own queue is in both.
 * The underlay marks the outer one. The egress combines them. In the mode `compatibility` the outer field is Not-ECT: then no queue
 * on the tunnel's way marks.
 */
class Vtep implements SwitchFeature {
  readonly #sw: FeatureSwitch
  readonly #isV4: boolean
  readonly #own = new AddressTable('own address')
  readonly #networks: readonly VirtualNetwork[]
  /** By port: the virtual network of its hosts. Null: the port belongs to the underlay. */
  readonly #networkOf: (VirtualNetwork | null)[]
  readonly #remotes: readonly Remote[]
  // By port x COLUMNS.
  readonly #counts: Float64Array

  constructor(options: VtepOptions, sw: FeatureSwitch) {
    const { address, networks } = options
    this.#sw = sw
    this.#isV4 = address.family === 4
    this.#own.set(address, 0)
    this.#networkOf = sw.ports.map(() => null)
    this.#counts = new Float64Array(sw.ports.length * COLUMNS)
    const remotes: Remote[] = []
    this.#networks = networks.map(given => {
      const network = new VirtualNetwork(given)
      for (const { port } of given.hosts) this.#join(port, network)
      for (const remote of given.remotes) {
        network.addRemote(remotes.length, remote.address, remote.hosts)
        remotes.push(new Remote(options, remote, network))
      }
      return network
    })
    this.#remotes = remotes
  }

  #join(port: number, network: VirtualNetwork): void {
    const other = this.#networkOf[port]
    if (other === undefined) throw bad(`there is no port ${port}`)
    if (other !== null && other !== network)
      throw bad(`port ${port} belongs to VNI ${other.vni} and ${network.vni}; a port belongs to one`)
    this.#networkOf[port] = network
  }

  forward(_now: Nanos, frame: Frame, ingress: number): number {
    if (ingress < 0) return this.#forwardOwn(frame)
    if (this.#isForThis(frame)) return this.#arrive(frame, ingress)
    const network = this.#networkOf[ingress]!
    return network === null ? UNDECIDED : this.#enter(frame, network, ingress)
  }

  grow(frame: Frame): number {
    return frame.remote < 0 ? 0 : growthBytes(frame, this.#remotes[frame.remote]!.headers)
  }

  start(_startNs: Nanos, frame: Frame, port: EgressPort): void {
    frame.outerNotEct = false
    if (frame.remote < 0) return
    const remote = this.#remotes[frame.remote]!
    const tos = (dscp(frame) << 2) | outerEcn(ecn(frame), remote.network.ecn)
    const sourcePort = sourcePortOf(frame)
    remote.headers.write(frame, sourcePort, tos)
    frame.flowHash = remote.flowHash(sourcePort)
    frame.remote = -1
    this.#count(port.index, ENCAPSULATED)
  }

  reset(): void {
    this.#counts.fill(0)
  }

  report(_now: Nanos, port: number): FeatureReport {
    const at = (column: number) => this.#counts[port * COLUMNS + column]!
    const [malformed, unknownVni, unknownVtep, ecnDrops, tooBig] = DROP_REASONS.map((_, i) => at(DROPPED + i))
    const vtep: VtepReport = {
      encapsulated: at(ENCAPSULATED),
      decapsulated: at(DECAPSULATED),
      unusualEcn: at(UNUSUAL_ECN),
      dropped: {
        malformed: malformed!,
        unknownVni: unknownVni!,
        unknownVtep: unknownVtep!,
        ecn: ecnDrops!,
        tooBig: tooBig!,
      },
    }
    return { vtep }
  }

  #isForThis({ view, l3 }: Frame): boolean {
    return (ipv4.version(view, l3) === 4) === this.#isV4 && this.#own.destination(view, l3) !== NONE
  }

  /** A packet of this switch may be for a host of any of its virtual networks, or of the underlay. */
  #forwardOwn(frame: Frame): number {
    for (let i = 0; i < this.#networks.length; i++) {
      const network = this.#networks[i]!
      if (network.placeOf(frame.view, frame.l3) !== NONE) return this.#enter(frame, network, 0)
    }
    return UNDECIDED
  }

  /** A packet of a host behind this end. */
  #enter(frame: Frame, network: VirtualNetwork, ingress: number): number {
    const place = network.placeOf(frame.view, frame.l3)
    if (place === NONE) return -DropReason.NO_ROUTE
    if (place < REMOTES_FROM) return place
    // The answer to it goes to its sender, and into no tunnel.
    if (ttl(frame) < 2) return -DropReason.TTL_EXPIRED
    const number = place - REMOTES_FROM
    const remote = this.#remotes[number]!
    const outerBytes = frame.wireLength + growthBytes(frame, remote.headers) - ETHERNET_BYTES
    if (outerBytes > network.mtuBytes) return this.#refuse(ingress, DropReason.TUNNEL_TOO_BIG)
    const port = this.#sw.portTo(remote.address, remote.flowHash(sourcePortOf(frame)))
    if (port < 0) return -DropReason.NO_ROUTE
    this.#bind(frame, number)
    return port
  }

  #bind(frame: Frame, number: number): void {
    frame.remote = number
    frame.outerNotEct = this.#remotes[number]!.network.ecn === 'compatibility'
  }

  /** A packet for this end itself: it comes out of a tunnel, or is none of its own. */
  #arrive(frame: Frame, ingress: number): number {
    const { view, l4 } = frame
    if (l4 < 0 || udp.destinationPort(view, l4) !== udp.PORT_VXLAN)
      return this.#refuse(ingress, DropReason.BAD_VXLAN)
    const header = l4 + udp.BYTES
    const end = Math.min(frame.length, l4 + udp.length(view, l4))
    if (vxlan.check(view, header, end) !== WireError.OK) return this.#refuse(ingress, DropReason.BAD_VXLAN)
    const network = this.#find(vxlan.vni(view, header))
    // Hosts behind this end send none: a port of theirs is no way into another virtual network.
    if (network === null || this.#networkOf[ingress] !== null)
      return this.#refuse(ingress, DropReason.UNKNOWN_VNI)
    const sender = network.senderOf(view, frame.l3)
    if (sender === NONE) return this.#refuse(ingress, DropReason.UNKNOWN_VTEP)
    const outer = ecn(frame)
    if (takeOut(frame) !== WireError.OK) return this.#refuse(ingress, DropReason.BAD_VXLAN)
    this.#count(ingress, DECAPSULATED)
    // What the switch answers itself, as ARP, goes back the same way.
    if (frame.l3 < 0) {
      this.#bind(frame, sender)
      return -DropReason.NOT_IP
    }
    return this.#leave(frame, network, { sender, outer, ingress })
  }

  /** A packet from a tunnel, which has been taken out. */
  #leave(
    frame: Frame,
    network: VirtualNetwork,
    { sender, outer, ingress }: { sender: number; outer: number; ingress: number },
  ): number {
    const inner = ecn(frame)
    if (isDangerous(inner, outer)) this.#count(ingress, UNUSUAL_ECN)
    const combined = ecnAtEgress(inner, outer)
    if (combined === ECN_DROP) return this.#refuse(ingress, DropReason.TUNNEL_ECN)
    if (combined !== inner) setEcn(frame, combined)
    const place = network.placeOf(frame.view, frame.l3)
    // A packet of one tunnel never goes into another: ends reach each other directly.
    const port = place >= REMOTES_FROM ? NONE : place
    if (port === NONE || ttl(frame) < 2) {
      this.#bind(frame, sender)
      return port === NONE ? -DropReason.NO_ROUTE : -DropReason.TTL_EXPIRED
    }
    frame.outerNotEct = outer === ipv4.ECN_NOT_ECT
    return port
  }

  #find(vni: number): VirtualNetwork | null {
    for (let i = 0; i < this.#networks.length; i++)
      if (this.#networks[i]!.vni === vni) return this.#networks[i]!
    return null
  }

  #refuse(port: number, reason: (typeof DROP_REASONS)[number]): number {
    this.#count(port, DROPPED + reason - DropReason.BAD_VXLAN)
    return -reason
  }

  #count(port: number, column: number): void {
    this.#counts[port * COLUMNS + column]! += 1
  }
}

const ETHERNET_BYTES = 14

/** The entropy of the inner flow. Bits of the hash that choose no path, so that outer paths are independent of inner ones. */
function sourcePortOf(frame: Frame): number {
  if (frame.l3 < 0) return SOURCE_PORT_FIRST
  if (frame.flowHash < 0) frame.flowHash = flowHash(frame.view, frame.length, frame.l3, frame.l4)
  return SOURCE_PORT_FIRST | (frame.flowHash >>> (HASH_BITS - SOURCE_PORT_BITS))
}

function bad(what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `vtep: ${what}`)
}

/** A line for each port at which packets were dropped. */
function linesOf({ vtep }: { vtep?: VtepReport }): string[] {
  if (vtep === undefined) return []
  const dropped = Object.entries(vtep.dropped).filter(([, count]) => count > 0)
  if (dropped.length === 0) return []
  return [`tunnel drops: ${dropped.map(([reason, count]) => `${reason} ${count}`).join(', ')}`]
}

/** Its options come from `vtep` of a scenario file, which describes all ends of a virtual network together. */
export const VTEP: FeatureEntry = {
  name: 'vtep',
  doc: 'The switch is an end of VXLAN tunnels.',
  usual: 'the switch is no end of tunnels',
  example: { vni: 100, ends: ['s1', 's2'] },
  options: null,
  figures: [
    { name: 'vtep.encapsulated', column: 'into tunnel' },
    { name: 'vtep.decapsulated', column: 'out of tunnel' },
  ],
  lines: linesOf as never,
  create: (options: VtepOptions, sw) => new Vtep(options, sw),
}
