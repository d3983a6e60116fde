import type { PathSettings } from '../../cc/path-options.js'
import { PreparedHeaders } from '../../frame/prepared-headers.js'
import type { Nanos } from '../../time/nanos.js'
import type { PathRace } from '../telemetry/path-race.js'
import type { FlowPaths } from './flow-paths.js'

const NO_HEADERS = new PreparedHeaders(new Int32Array(0), 0)

/** A link has failed since the path was last known to be whole. `Failover` writes it. */
export interface PathDoubt {
  /** An acknowledgement beyond this PSN shows that the path is whole. */
  provenSeq: number
  /** SND.UNA, and since when it has been so or the path has been taken. */
  una: number
  sinceNs: Nanos
  /** Races that have found nothing, and paths left by chance, since the link failed. */
  attempts: number
  /** Probes from several source ports. Null: none were sent yet. */
  race: PathRace | null
  /** Another link has failed since that race began: its answers tell where to go, and not that this is whole still. */
  again: boolean
}

/**
 * The path of a flow's packets: the ports by which the network hashes them, their class, and the headers with both. Fields but `doubt` change
 * by its methods.
 */
export class FlowPath {
  readonly settings: PathSettings
  /** Null: no link has failed since the path was last known to be whole. */
  doubt: PathDoubt | null = null
  /** UDP source port of this end's packets: the entropy of their path. */
  sourcePort = 0
  /** The one that this end began with. */
  firstPort = 0
  /** UDP source port of the peer's last data packet, 0 = none has come. */
  peerSourcePort = 0
  /** The one UDP port from which a peer sends that keeps to one; 0 = not known yet. */
  keptPort = 0
  /** What the flow's packets carry, 0 to 63. */
  dscp = 0
  /** 0 to 7: the priority by which a switch pauses the flow. */
  priority = 0
  /** Ethernet, IP and UDP headers as the next packet needs them, except lengths, UDP destination port and checksum. */
  headers: PreparedHeaders = NO_HEADERS
  #subscribedHeaders: PreparedHeaders = NO_HEADERS
  #cnpPriority = -1
  #cnpHeaders: PreparedHeaders = NO_HEADERS
  /** How this end chooses the path of what it sends; null: it does not. PathSelector writes it. */
  selection: FlowPaths | null = null
  #switchesPassed = 0

  constructor(settings: PathSettings) {
    this.settings = settings
  }

  /** The same headers with the DSCP that asks switches for direct answers. */
  get subscribedHeaders(): PreparedHeaders {
    return this.#subscribedHeaders
  }

  /** Headers of the flow's congestion notification packets, and the priority by which a switch pauses them. */
  get cnpHeaders(): PreparedHeaders {
    return this.#cnpPriority < 0 ? this.headers : this.#cnpHeaders
  }

  get cnpPriority(): number {
    return this.#cnpPriority < 0 ? this.priority : this.#cnpPriority
  }

  /** The choice of a path allows data. */
  get isChosen(): boolean {
    const selection = this.selection
    return selection === null || selection.phase === 'settled' || selection.phase === 'new'
  }

  /** The packets will have that port and class; `take` follows, before the first leaves. */
  begin(sourcePort: number, dscp: number, priority: number): void {
    this.sourcePort = sourcePort
    this.firstPort = sourcePort
    this.dscp = dscp
    this.priority = priority
  }

  /** @param headers those of the flow's packets; @param subscribed with the DSCP that asks for direct answers, null = none do */
  take(sourcePort: number, dscp: number, headers: PreparedHeaders, subscribed: PreparedHeaders | null): void {
    this.sourcePort = sourcePort
    this.dscp = dscp
    this.headers = headers
    if (subscribed !== null) this.#subscribedHeaders = subscribed
  }

  /** Congestion notification packets have a priority of their own. */
  notifyBy(priority: number, headers: PreparedHeaders): void {
    this.#cnpPriority = priority
    this.#cnpHeaders = headers
  }

  /** From now on this end chooses its path. */
  choose(selection: FlowPaths): void {
    this.selection = selection
  }

  /** The peer's data comes from this port. False if none had come before. */
  onPeerPort(sourcePort: number): boolean {
    const moved = this.peerSourcePort !== 0
    this.peerSourcePort = sourcePort
    return moved
  }

  /** The port of the peer's data says nothing any more: that path may have failed. */
  forgetPeerPort(): void {
    this.peerSourcePort = 0
  }

  /** The queue pair has taken a packet from this port of the peer. */
  onGenuine(sourcePort: number): void {
    if (this.keptPort === 0) this.keptPort = sourcePort
  }

  /** Telemetry names so many switches. True if they are more than ever before. */
  onSwitches(passed: number): boolean {
    if (passed <= this.#switchesPassed) return false
    this.#switchesPassed = passed
    return true
  }
}
