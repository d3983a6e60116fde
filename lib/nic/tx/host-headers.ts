import type { PreparedHeaders } from '../../frame/prepared-headers.js'
import * as mad from '../../wire/cm/mad.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { MacAddress } from '../../wire/net/mac.js'
import type { NicSettings } from '../config.js'
import type { Flow } from '../flow/flow.js'
import { prepareHeaders, withSourcePort } from './headers.js'
import type { SourcePorts } from './source-ports.js'

const PEERS_MAX = 1024

/** Headers that have been made, and for what, but for their source port. */
interface Made {
  to: HostAddress
  toMac: MacAddress
  dscp: number
  marks: boolean
  headers: PreparedHeaders
}

/** Prepared headers from this host to its peers. */
export class HostHeaders {
  readonly #settings: NicSettings
  readonly #sourcePorts: SourcePorts
  /** For management datagrams, by peer; starts over when there are too many. */
  readonly #management = new Map<string, PreparedHeaders>()
  /** The last ones of a flow: mostly the next flow's differ in their source port alone. */
  #made: Made | null = null
  #spreads = false

  constructor(settings: NicSettings, sourcePorts: SourcePorts) {
    this.#settings = settings
    this.#sourcePorts = sourcePorts
  }

  /** Gives a flow its headers, and those by which it asks switches for direct answers. */
  prepare(flow: Flow, dscp: number): void {
    this.#prepare(flow, flow.path.sourcePort, dscp)
  }

  /** From now on the flow's packets leave from another source port. */
  sendFrom(flow: Flow, sourcePort: number): void {
    this.#prepare(flow, sourcePort, flow.path.dscp)
  }

  #prepare(
    { remote, peer: { reportsMarks }, path, sender, stats }: Flow,
    sourcePort: number,
    dscp: number,
  ): void {
    const { subscribeDscp } = sender.telemetry
    const subscribed =
      subscribeDscp === null ? null : this.forFlow(remote, sourcePort, subscribeDscp, reportsMarks)
    path.take(sourcePort, dscp, this.forFlow(remote, sourcePort, dscp, reportsMarks), subscribed)
    const { cnpPriority, dscpOfPriority } = this.#settings
    if (cnpPriority !== undefined)
      path.notifyBy(cnpPriority, this.forFlow(remote, sourcePort, dscpOfPriority[cnpPriority]!, reportsMarks))
    stats.sourcePort = this.#sourcePorts.nearest(sourcePort)
  }

  /**
   * Headers of a flow, whose UDP source port is its entropy; if packets cannot leave from that port, the nearest that
   * they can. @param marks packets are ECN-capable
   */
  forFlow(to: HostAddress, sourcePort: number, dscp: number, marks = true): PreparedHeaders {
    const { address: from, mac, peerMac, macOfPeer } = this.#settings
    const toMac = macOfPeer?.(to) ?? peerMac
    const port = this.#sourcePorts.nearest(sourcePort)
    const made = this.#made
    if (made?.to === to && made.toMac === toMac && made.dscp === dscp && made.marks === marks)
      return withSourcePort(made.headers, port)
    const headers = prepareHeaders({ from, to, fromMac: mac, toMac }, port, dscp, marks)
    this.#made = { to, toMac, dscp, marks, headers }
    return headers
  }

  /** A link has failed: from now on each management datagram leaves from a source port of its own, so that repeated ones take other paths. */
  spread(): void {
    this.#spreads = true
    this.#management.clear()
  }

  /** All links are up again: management datagrams leave from their usual port. */
  gather(): void {
    this.#spreads = false
  }

  /** Headers of datagrams between the hosts' QPs 1: in the NIC's own priority. */
  forManagement(to: HostAddress): PreparedHeaders {
    const { priority, dscpOfPriority, macOfPeer, random } = this.#settings
    const dscp = dscpOfPriority[priority]!
    if (this.#spreads) return this.forFlow(to, this.#sourcePorts.at(random()), dscp)
    const key = to.toString()
    // A peer's MAC may become known, or change, between two datagrams.
    const known = macOfPeer === undefined ? this.#management.get(key) : undefined
    if (known !== undefined) return known
    if (this.#management.size >= PEERS_MAX) this.#management.clear()
    const made = this.forFlow(to, mad.UDP_SOURCE_PORT, dscp)
    this.#management.set(key, made)
    return made
  }
}
