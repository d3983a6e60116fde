import type { OptionValues } from '../../cc/options.js'
import type { PathSettings } from '../../cc/path-options.js'
import type { TelemetrySettings } from '../../cc/telemetry-settings.js'
import type { CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { HostHop } from '../telemetry/host-hop.js'
import type { EchoRooms } from '../telemetry/telemetry-echo.js'
import type { ConnectionHandler } from '../types.js'
import type { FlowPhase } from './flow-ending.js'

/** What is of one flow alone. */
export interface OwnOptions {
  index: number
  qpn: number
  handler: ConnectionHandler
  completions: CompletionQueue
  phase: FlowPhase
}

/** What a flow is made with, and what is the same for alike flows. */
export interface FlowOptions {
  remote: HostAddress
  /** The peer's UDP port of RoCEv2; 0 = the same as this host's. */
  udpPort: number
  /** T, when it is given; 0 = to be measured. */
  fixedBaseRttNs: Nanos
  /** Bytes of the longest IP packet that this end tries to send; 0 = a user has chosen the path MTU. */
  packetBytes: number
  /** Path MTU of InfiniBand, towards any peer. */
  pathMtu: number
  /** Payload that fills a packet, towards a Weir host that fills its packets too; 0 = this end does not. */
  filledPayload: number
  ccChoice: { name: string; options: OptionValues }
  intFormat: number
  intSlots: number
  telemetry: TelemetrySettings
  /** This host as the last hop of the path. Default: it adds no record. */
  hostHop?: HostHop | null
  echoRooms: EchoRooms
  pathSettings: PathSettings
  /** Bound on unacknowledged packets, a power of two. */
  packetsInFlightMax: number
  /** Lateness that pacing makes good. */
  slackNs: Nanos
  /** Time, at the flow's rate, of the packets that leave together where nothing measures the queue that they make. */
  pacingRunNs: Nanos
  /** Packets that are written together at most, 1 to 64. */
  runPackets: number
  lineRateBps: number
  selectiveRepeat: boolean
  /** This end would do without ICRCs. */
  withoutIcrc: boolean
  /** This end would have packets with payload carry acknowledgements. */
  carriesAcks: boolean
  /** A peer that has been silent for so long, although it was asked, is gone; 0 = none is. */
  keepAliveNs: Nanos
  /** Packets for which one acknowledgement stands, unless the peer asks otherwise; 0 = only those that ask are acknowledged. */
  ackEveryPackets: number
}
