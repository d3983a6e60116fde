/** The parts of what `weir status` says to people. */
import type { ConnectionInfo, StatusReply, TunnelInfo } from '../../lib/client/daemon-client.js'
import { hostPort } from '../../lib/host-port.js'
import { printable } from '../../lib/printable.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { table } from '../../lib/scenario/result/table.js'
import { fit } from '../../lib/text-width.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { dropWords } from './drop-words.js'

export const GAP_COLUMNS = 2
/** Columns of the names before the daemon's own figures. */
const NAME_COLUMNS = 11
/** Figures of a connection, as `figuresOf` has them, and its peer. */
export const CONNECTION_HEAD = ['control', 'RTT', 'base', 'window', 'rate', 'retrans', 'peer']
/** Figures of a TCP connection in a tunnel, as `tunnelRow` has them. */
export const TUNNEL_HEAD = ['tunnel', 'up', 'sent', 'received', 'target']

/** What the daemon is, a line or more for each of its settings. @param without names of lines that are left out */
export function headText(status: StatusReply, columns: number, without: readonly string[] = []): string {
  const {
    version,
    pid,
    uptimeSeconds,
    residentBytes,
    address,
    port,
    intPort,
    io,
    share,
    inbox,
    allowTunnel,
  } = status
  const { congestionControl, lineRateBps, transfers, sentBytes, receivedBytes, damagedChunks } = status
  const lines: [string, string][] = [
    [
      'daemon',
      `weir ${version}, pid ${pid}, up ${uptime(uptimeSeconds)}, ${formatBytes(residentBytes)} in memory`,
    ],
    ['address', `${address}, UDP ports ${port} (RoCEv2) and ${intPort} (telemetry)`],
    [
      'io',
      `${io}, ${packetsText(status)}, controller ${congestionControl}, up to ${formatRate(lineRateBps)}`,
    ],
    ['sealed', sealedText(status)],
    ['inbox', printable(inbox)],
    ...(allowTunnel.length === 0
      ? []
      : [['dials', allowTunnel.map(printable).join(', ')] as [string, string]]),
    ...(status.perftestPort > 0 ? [['perftest', perftestText(status)] as [string, string]] : []),
    ...inofLines(status),
    ['share', share === '' ? 'nothing' : printable(share)],
    [
      'transfers',
      `${transfers} under way; since the start ${formatBytes(sentBytes)} sent, ${formatBytes(receivedBytes)} received${damagedChunks > 0 ? `, ${damagedChunks} damaged chunks moved again` : ''}`,
    ],
  ]
  return lines
    .filter(([name]) => !without.includes(name))
    .map(([name, text]) => `${fold(name.padEnd(NAME_COLUMNS) + text, columns, NAME_COLUMNS)}\n`)
    .join('')
}

/** Formats what iNOF has reported: `3 peers known; since the start 1 notices of failed links, 2 flows moved`. */
function inofLines({ inof }: StatusReply): [string, string][] {
  if (inof === null) return []
  const { peers, linkFailures, moves } = inof
  return [
    [
      'inof',
      `${peers.length} peers known; since the start ${linkFailures} notices of failed links, ${moves} flows moved`,
    ],
  ]
}

/** Formats what it does for perftest: `port 18515, 1 client here; since the start 3 served, 0 left early, 0 turned away`. */
function perftestText({
  perftestPort,
  perftestClients,
  perftestServed,
  perftestLeftEarly,
  perftestTurnedAway,
}: StatusReply): string {
  const here = `${perftestClients} ${perftestClients === 1 ? 'client' : 'clients'} here`
  return `port ${perftestPort}, ${here}; since the start ${perftestServed} served, ${perftestLeftEarly} left early, ${perftestTurnedAway} turned away`
}

/** Formats how connections are sealed: `by key x25519:…; 3 connections, 1 handshake refused`. */
function sealedText({ sealsBy, publicKey, sealedConnections, refusedHandshakes }: StatusReply): string {
  if (sealsBy === '') return 'no: connections are in the clear'
  const by = `by ${sealsBy}${publicKey === '' ? '' : `, this host's is ${publicKey}`}`
  return `${by}; since the start ${sealedConnections} connections, ${refusedHandshakes} handshakes refused`
}

/** Formats the length of packets and where it comes from: `MTU 1500: packets of 1308 bytes, 1024 to others than Weir hosts`. */
function packetsText({ mtu, pathMtu, filledPayload, icrc }: StatusReply): string {
  const packets =
    filledPayload > 0 ? `${filledPayload} bytes, ${pathMtu} to others than Weir hosts` : `${pathMtu} bytes`
  return `MTU ${mtu}: packets of ${packets}${icrc === 'none' ? ', without ICRC to Weir hosts that agree' : ''}`
}

export function connectionsText(status: StatusReply, columns: number): string {
  const { connections, connectionCount, port } = status
  if (connectionCount === 0) return 'no connections\n'
  const figures = connections.map(figuresOf)
  const widths = CONNECTION_HEAD.map((title, i) =>
    Math.max(title.length, ...figures.map(row => row[i]?.length ?? 0)),
  )
  const used = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP_COLUMNS, 0)
  const peers = connections.map(connection => peerOf(connection, port))
  const isBeside = peers.every(peer => used + peer.length <= columns)
  const left = columns - (isBeside ? used : widths[0]! + GAP_COLUMNS)
  const rows = figures.map((row, i) => [...row, fit(peers[i]!, left)])
  const text = connectionTable(CONNECTION_HEAD, rows, columns) + notesText(status, columns)
  const more = moreConnections(connectionCount - connections.length)
  return more === '' ? text : `${text}${more}\n`
}

/** What is to be said of connections beside their figures. */
export function notesText({ connections }: StatusReply, columns: number): string {
  return (
    reasonsText(connections, columns) +
    refusalsText(connections, columns) +
    icrcText(connections, columns) +
    movesText(connections, columns)
  )
}

/** '' = none. */
export function moreConnections(count: number): string {
  return count > 0 ? `and ${count} more ${count === 1 ? 'connection' : 'connections'}` : ''
}

/** '' = none. */
export function moreTunnels(count: number): string {
  return count > 0 ? `and ${count} more TCP ${count === 1 ? 'connection' : 'connections'}` : ''
}

/** Formats the TCP connections that the daemon carries. '' = none. */
export function tunnelsText({ tunnels, tunnelCount }: StatusReply, columns: number): string {
  if (tunnelCount === 0) return ''
  const rows = tunnels.map(tunnelRow)
  const used = TUNNEL_HEAD.slice(0, -1).map((title, i) =>
    Math.max(title.length, ...rows.map(row => row[i]!.length)),
  )
  const left = columns - used.reduce((sum, width) => sum + width + GAP_COLUMNS, 0)
  const fitted = rows.map(row => [...row.slice(0, -1), fit(row.at(-1)!, Math.max(left, 10))])
  const text = connectionTable(TUNNEL_HEAD, fitted, columns)
  const more = moreTunnels(tunnelCount - tunnels.length)
  return more === '' ? text : `${text}${more}\n`
}

export function tunnelRow(tunnel: TunnelInfo): string[] {
  const { direction, seconds, sentBytes, receivedBytes, target, client, peer } = tunnel
  const text = direction === 'out' ? `${target}, by ${peer}, for ${client}` : `${target}, for ${peer}`
  return [direction, uptime(seconds), formatBytes(sentBytes), formatBytes(receivedBytes), printable(text)]
}

/** Formats a line for each controller in force and the reason: `cubic: no switch on the path has written telemetry (3 connections)`. */
function reasonsText(connections: readonly ConnectionInfo[], columns: number): string {
  const alike = new Map<string, number>()
  for (const { congestionControl: control, controllerReason: reason } of connections) {
    if (control === '' || reason === '') continue
    const why = `${control}: ${reason}`
    alike.set(why, (alike.get(why) ?? 0) + 1)
  }
  return [...alike]
    .map(([why, count]) => (count === 1 ? why : `${why} (${count} connections)`))
    .map(line => `${fold(line, columns, GAP_COLUMNS)}\n`)
    .join('')
}

/** Formats a line for each peer and controller with the needs that the peer refuses. */
function refusalsText(connections: readonly ConnectionInfo[], columns: number): string {
  const lines = connections.flatMap(({ peer, feedbackRefused: refused, congestionControl: control }) =>
    refused.length === 0
      ? []
      : [`${peer} does not give ${refused.join(', ')}: ${control || 'no controller'} goes on without`],
  )
  return [...new Set(lines)].map(line => `${fold(line, columns, GAP_COLUMNS)}\n`).join('')
}

/** Formats a line for each peer with a connection without ICRC. */
function icrcText(connections: readonly ConnectionInfo[], columns: number): string {
  const without = connections.filter(({ withoutIcrc }) => withoutIcrc).map(({ peer }) => peer)
  return [...new Set(without)]
    .map(peer => `${fold(`${peer}: packets have no ICRC, as both hosts say`, columns, GAP_COLUMNS)}\n`)
    .join('')
}

/** Formats a line for each connection that has taken other paths. */
function movesText(connections: readonly ConnectionInfo[], columns: number): string {
  return connections
    .filter(({ pathMoves }) => pathMoves > 0)
    .map(({ peer, pathMoves, sourcePort }) => {
      const moves = `moved to another path ${pathMoves === 1 ? 'once' : `${pathMoves} times`}`
      return `${fold(`${peer}: ${moves}, now by source port ${sourcePort}`, columns, GAP_COLUMNS)}\n`
    })
    .join('')
}

/**
 * The column of peers is the last one, where a long name disturbs no other. If it does not fit, peers are
 * below the rows.
 */
function connectionTable(head: readonly string[], rows: string[][], columns: number): string {
  return table(head, rows, 1, columns, true)
}

export function figuresOf(connection: ConnectionInfo): string[] {
  const { congestionControl, state, rttNs, baseRttNs, windowBytes, rateBps, retransmittedBytes } = connection
  return [
    state === 'established' ? congestionControl || '-' : state,
    time(rttNs),
    time(baseRttNs),
    windowBytes > 0 ? formatBytes(Math.round(windowBytes)) : '-',
    rateBps > 0 ? formatRate(Math.round(rateBps)) : '-',
    formatBytes(retransmittedBytes),
  ]
}

/** Formats the peer, with its UDP port if that is not the daemon's own. */
export function peerOf({ peer, port }: ConnectionInfo, ownPort: number): string {
  if (port === ownPort) return peer
  return hostPort(peer, port)
}

function time(ns: number): string {
  return ns > 0 ? formatDuration(Math.round(ns)) : '-'
}

/** The counts that are not 0. */
export function seenDrops({ drops }: StatusReply): [reason: string, count: number][] {
  return Object.entries(drops).filter(([, count]) => count > 0)
}

/** Formats them. An idle host prints none. */
export function dropsText(status: StatusReply, columns: number): string {
  const seen = seenDrops(status)
  if (seen.length === 0) return 'nothing was dropped\n'
  const rows = seen.map(([reason, count]) => ({ reason, count: String(count), words: dropWords(reason) }))
  const reasonColumns = Math.max(...rows.map(({ reason }) => reason.length))
  const countColumns = Math.max(...rows.map(({ count }) => count.length))
  const used = reasonColumns + countColumns + 2 * GAP_COLUMNS
  const lines = rows.map(({ reason, count, words }) => {
    const counted = `${reason.padEnd(reasonColumns)}  ${count.padStart(countColumns)}`
    return fold(`${counted}  ${words}`.trimEnd(), columns, used)
  })
  return `dropped or ignored since the start:\n${lines.join('\n')}\n`
}

/** Formats `3d 4h`, `2h 5min`, `12min 3s`, `7s`. */
export function uptime(seconds: number): string {
  const whole = Math.floor(seconds)
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0s'
  return parts
    .slice(first, first + 2)
    .filter(([count], i) => i === 0 || count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}
