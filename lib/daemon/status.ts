/** The status of a daemon. */
import type { ConnectionInfo, InofInfo, Loose, StatusReply, TunnelInfo } from '../control/messages.js'
import type { Flow } from '../nic/flow/flow.js'
import { usualFilledPayload } from '../nic/flow/make-flow.js'
import { bytesOf, type TunnelStream } from '../tunnel/tunnel-streams.js'
import { formatIpv4 } from '../wire/net/address.js'
import { dropCounts } from './drop-counts.js'
import type { HostParts } from './host-parts.js'
import { packageVersion } from './package-version.js'

const VERSION = packageVersion()
/** Connections that one reply lists. A reply has at most 64 KiB. */
const CONNECTIONS_MAX = 200
const TUNNELS_MAX = 100
const PEERS_MAX = 1000

/** @param startedMs when the daemon started, ms since 1970 */
export function statusOf(host: HostParts, startedMs: number): Loose<StatusReply> {
  const { address, udpPort, io, inbox, share, nic, port, transfers, tunnels, allowedTargets, sealed } = host
  const { perftest } = host
  const { rx, feedback } = nic.counters
  return {
    version: VERSION,
    pid: process.pid,
    address: address.toString(),
    port: udpPort,
    intPort: udpPort + 1,
    inbox: inbox.folder,
    io,
    congestionControl: nic.settings.cc.name,
    lineRateBps: nic.settings.lineRateBps,
    pathMtu: nic.settings.pathMtu,
    uptimeSeconds: (Date.now() - startedMs) / 1000,
    residentBytes: process.memoryUsage.rss(),
    transfers: transfers.count,
    receivedBytes: transfers.receivedBytes,
    sentBytes: transfers.sentBytes,
    damagedChunks: transfers.damagedChunks,
    share: share?.folder ?? '',
    refusedFeedback: rx.untaggedFeedback + rx.forgedFeedback + rx.replayedFeedback,
    implausibleTelemetry: rx.implausibleTelemetry + feedback.implausibleTelemetry,
    connections: connectionsOf(nic.table.flows, udpPort),
    connectionCount: nic.table.count,
    drops: dropCounts(host),
    mtu: port.mtu,
    filledPayload: usualFilledPayload(nic.settings),
    icrc: nic.settings.withoutIcrc ? 'none' : 'always',
    tunnels: [...tunnels.live].slice(0, TUNNELS_MAX).map(tunnelInfo),
    tunnelCount: tunnels.live.size,
    allowTunnel: allowedTargets.texts,
    sealsBy: sealed?.by ?? '',
    publicKey: sealed?.publicKey ?? '',
    sealedConnections: sealed?.counters.sealed ?? 0,
    refusedHandshakes: sealed?.counters.refused ?? 0,
    perftestPort: perftest?.port ?? 0,
    perftestClients: perftest?.clients ?? 0,
    perftestServed: perftest?.counters.served ?? 0,
    perftestLeftEarly: perftest?.counters.leftEarly ?? 0,
    perftestTurnedAway: perftest?.counters.turnedAway ?? 0,
    inof: inofInfo(host),
  }
}

/** Null: the host does not announce itself. */
function inofInfo({ inof, nic }: HostParts): InofInfo | null {
  if (inof === null) return null
  const { notices, moves } = nic.counters.failover
  const peers = inof.agent.peers().slice(0, PEERS_MAX)
  return { peers: peers.map(({ address }) => formatIpv4(address)), linkFailures: notices, moves }
}

function tunnelInfo(carried: TunnelStream): TunnelInfo {
  const { direction, peer, target, client, sinceMs } = carried
  const { sent: sentBytes, received: receivedBytes } = bytesOf(carried)
  return { direction, peer, target, client, seconds: (Date.now() - sinceMs) / 1000, sentBytes, receivedBytes }
}

function connectionsOf(flows: readonly (Flow | null)[], ownPort: number): ConnectionInfo[] {
  const infos: ConnectionInfo[] = []
  for (const flow of flows) {
    if (flow !== null) infos.push(connectionInfo(flow, ownPort))
    if (infos.length === CONNECTIONS_MAX) break
  }
  return infos
}

function connectionInfo(flow: Flow, ownPort: number): ConnectionInfo {
  const { stats, qpn: id, remote, handshake, peer, ending } = flow
  return {
    id,
    peer: remote.toString(),
    port: peer.udpPort || ownPort,
    state: ending.phase,
    active: handshake.active,
    congestionControl: stats.controller,
    controllerReason: stats.controllerReason,
    feedbackGranted: [...stats.feedbackGranted],
    feedbackRefused: [...stats.feedbackRefused],
    feedbackGiven: [...stats.feedbackGiven],
    baseRttNs: stats.baseRttNs,
    rttNs: stats.rttNs,
    rateBps: stats.rateBps,
    windowBytes: stats.windowBytes,
    inFlightBytes: flow.qp.inFlightBytes,
    sentBytes: stats.sentBytes,
    ackedBytes: stats.ackedBytes,
    retransmittedBytes: stats.retransmittedBytes,
    spuriousRetransmissions: stats.spuriousRetransmissions,
    receivedBytes: flow.qp.counters.receivedBytes + flow.qp.counters.readResponseBytes,
    timeouts: stats.timeouts,
    pathQueueBytes: stats.pathQueueBytes,
    pathHops: stats.pathHops,
    sourcePort: stats.sourcePort,
    refusedFeedback: stats.refusedFeedback,
    implausibleTelemetry: stats.implausibleTelemetry,
    pathMtu: peer.payloadMax,
    withoutIcrc: peer.withoutIcrc.agreed,
    pathMoves: stats.pathMoves,
  }
}
