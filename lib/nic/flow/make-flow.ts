import { ccWantsTelemetry } from '../../cc/catalogue.js'
import { double } from '../../double.js'
import type { MemoryTable } from '../../qp/memory/memory.js'
import { type CommonQpConfig, QueuePair } from '../../qp/queue-pair.js'
import { CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { ReadRoom } from '../../qp/queues/read-room.js'
import type { ReorderPool } from '../../qp/queues/reorder-buffer.js'
import type { HostAddress } from '../../wire/net/address.js'
import { intFormat, type NicSettings } from '../config.js'
import type { HostHop } from '../telemetry/host-hop.js'
import type { EchoRooms } from '../telemetry/telemetry-echo.js'
import type { ConnectionHandler, ConnectOptions } from '../types.js'
import { filledPayload, pathMtuFor } from './filled-payload.js'
import { Flow } from './flow.js'
import type { FlowPhase } from './flow-ending.js'
import type { FlowOptions } from './flow-options.js'
import type { FlowTable } from './flow-table.js'
import type { PathLengths } from './path-lengths.js'
import { plainPathMtu } from './plain-path-mtu.js'

/** What a flow is made with, by its NIC. */
export interface FlowHost {
  settings: NicSettings
  table: FlowTable
  memory: MemoryTable
  hostHop: HostHop | null
  echoRooms: EchoRooms
  readRoom: ReadRoom
  pathLengths: PathLengths
}

/** What is known of a connection when its flow is made. */
interface Beginning {
  remote: HostAddress
  /** 0 = the same as this host's. */
  udpPort: number
  /** Undefined: the NIC's. */
  baseRttNs: number | undefined
  /** Undefined: the NIC's. */
  pathMtu: number | undefined
  /** A peer that is no Weir host requests it, and chooses the path MTU. Default false. */
  isPlain?: boolean
  /** Bytes of the longest IP packet to the peer, which packets may fill; 0 = they do not. */
  packetBytes: number
  cc: ConnectOptions['cc']
  telemetry?: ConnectOptions['telemetry']
  paths?: ConnectOptions['paths']
}

/** What alike flows are made with. */
export interface FlowPlan {
  options: FlowOptions
  qp: CommonQpConfig
}

/** Works out how flows are made that begin like this. */
export function planFlow(
  { settings, hostHop, echoRooms, readRoom, pathLengths }: FlowHost,
  reorderPool: ReorderPool,
  { remote, udpPort, baseRttNs, pathMtu, isPlain, packetBytes, cc, telemetry, paths }: Beginning,
): FlowPlan {
  const collected = telemetry === undefined ? settings.telemetry : { ...settings.telemetry, ...telemetry }
  const ccChoice = cc ?? settings.cc
  const intSlots = pathLengths.slotsTo(remote)
  const mostOwn = isPlain ? plainPathMtu(settings) : settings.pathMtu
  const ownPathMtu = Math.min(mostOwn, pathMtu ?? settings.pathMtu)
  const isShorter = packetBytes > 0 && packetBytes < settings.packetBytesMax
  const mostPathMtu = isShorter ? Math.min(ownPathMtu, pathMtuFor(packetBytes)) : ownPathMtu
  const options: FlowOptions = {
    remote,
    udpPort,
    fixedBaseRttNs: baseRttNs ?? settings.baseRttNs ?? 0,
    packetBytes,
    pathMtu: mostPathMtu,
    filledPayload: filledPayloadOf(settings, {
      packetBytes,
      pathMtu: mostPathMtu,
      controller: ccChoice.name,
      hops: intSlots,
    }),
    ccChoice,
    intFormat: intFormat(settings),
    intSlots,
    telemetry: collected,
    hostHop: collected.hostHop ? hostHop : null,
    echoRooms,
    pathSettings: paths === undefined ? settings.paths : { ...settings.paths, ...paths },
    packetsInFlightMax: settings.packetsInFlightMax,
    slackNs: settings.slackNs,
    pacingRunNs: settings.pacingRunNs,
    runPackets: settings.runPackets,
    lineRateBps: double(settings.lineRateBps),
    selectiveRepeat: settings.recovery === 'selective',
    withoutIcrc: settings.withoutIcrc,
    carriesAcks: settings.carriesAcks && settings.secret === undefined,
    ackEveryPackets: settings.ackEveryPackets,
    keepAliveNs: settings.keepAliveNs,
  }
  const qp: CommonQpConfig = {
    sendQueueDepth: settings.queueDepth,
    receiveQueueDepth: settings.queueDepth,
    ackEveryPackets: settings.ackEveryPackets,
    maxPacketsInFlight: settings.packetsInFlightMax,
    reorderPackets: Math.min(65_536, settings.reorderPackets >>> 1),
    reorderPool,
    reorderTolerance: settings.reorderTolerance,
    probeTimeoutLeastNs: settings.probeTimeoutLeastNs,
    retransmitTimeoutLeastNs: settings.retransmitTimeoutLeastNs,
    pathMtu: mostPathMtu,
    gathers: settings.gathers,
    readRoom,
  }
  return { options, qp }
}

/** A flow and its queue pair, not yet in the table. Throws WEIR_FULL when that has no room. */
export function makeFlow(
  { settings, table, memory }: FlowHost,
  { options, qp: common }: FlowPlan,
  handler: ConnectionHandler,
  phase: FlowPhase,
): Flow {
  const { index, qpn } = table.reserve()
  const completions = new CompletionQueue(2 * settings.queueDepth)
  const flow = new Flow({ index, qpn, handler, completions, phase }, options)
  const { domain, receiveSource } = handler
  const own = { qpn, sendCq: completions, receiveCq: completions, memory, domain, receiveSource }
  flow.attach(new QueuePair(own, flow, common))
  return flow
}

/** What decides which payload fills a packet. */
interface Filling {
  /** Bytes of the packet. */
  packetBytes: number
  pathMtu: number
  controller: string
  /** Switches whose telemetry it may collect. */
  hops: number
}

/** The payload that fills packets; 0 where it would be no more than the path MTU. */
function filledPayloadOf(settings: NicSettings, { packetBytes, pathMtu, controller, hops }: Filling): number {
  if (packetBytes === 0) return 0
  const collected = ccWantsTelemetry(controller) ? { format: intFormat(settings), hops } : null
  const payload = filledPayload(packetBytes, settings.address, collected)
  return payload > pathMtu ? payload : 0
}

/** The payload of full packets towards Weir hosts, as it is for most of them; 0 = the path MTU. */
export function usualFilledPayload(settings: NicSettings): number {
  const { packetBytesMax: packetBytes, pathMtu, cc, int } = settings
  return filledPayloadOf(settings, { packetBytes, pathMtu, controller: cc.name, hops: int.hops })
}
