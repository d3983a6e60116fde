/** Output of `weir status` for people. */
import type { StatusReply } from '../../lib/client/daemon-client.js'
import { table } from '../../lib/scenario/result/table.js'
import { fit } from '../../lib/text-width.js'
import { formatBytes } from '../../lib/units/units.js'
import { columnsOf } from './fit.js'
import {
  CONNECTION_HEAD,
  connectionsText,
  dropsText,
  figuresOf,
  GAP_COLUMNS,
  headText,
  moreConnections,
  moreTunnels,
  notesText,
  peerOf,
  seenDrops,
  TUNNEL_HEAD,
  tunnelRow,
  tunnelsText,
  uptime,
} from './status-parts.js'

/** Columns that make room for others where a terminal is narrow, in this order. */
const LEAST_WANTED = ['base', 'window', 'RTT', 'up', 'received', 'retrans', 'rate', 'sent']
/** Figures of which all say nothing take no column. */
const NOTHING = ['-', '0B']
/** A longer last column is cut rather than that another column gives way. */
const LAST_COLUMNS = 40
/** The head of a table, and the line below it. */
const HEAD_ROWS = 2
/** What the first lines of a brief status say. */
const SAID_ABOVE = ['daemon', 'transfers']

/** @param rows of the terminal: where all would take more, what changes comes first, and some stand for all */
export function statusText(
  status: StatusReply,
  columns: number = columnsOf(process.stdout),
  rows = Number.POSITIVE_INFINITY,
): string {
  const parts = [headText(status, columns), connectionsText(status, columns), tunnelsText(status, columns)]
  const all = [...parts.filter(text => text !== ''), dropsText(status, columns)].join('\n')
  return linesOf(all).length <= rows ? all : `${briefLines(status, columns, rows).join('\n')}\n`
}

function linesOf(text: string): string[] {
  return text.trimEnd().split('\n')
}

/** What goes on, within these rows; then what the daemon is, as far as there is room. */
function briefLines(status: StatusReply, columns: number, rows: number): string[] {
  const { connections, connectionCount, tunnels, tunnelCount, port } = status
  const drops = seenDrops(status).map(([reason, count]) => `${reason} ${count}`)
  const above = [titleOf(status), transfersOf(status)].map(line => fit(line, columns))
  const below = drops.length === 0 ? [] : [fit(`dropped or ignored: ${drops.join(', ')}`, columns)]
  if (connectionCount === 0) above.push('no connections')
  const connectionList = {
    head: CONNECTION_HEAD,
    rows: connections.map(connection => [...figuresOf(connection), peerOf(connection, port)]),
    more: (listed: number) => moreConnections(connectionCount - listed),
  }
  const tunnelList = {
    head: TUNNEL_HEAD,
    rows: tunnels.map(tunnelRow),
    more: (listed: number) => moreTunnels(tunnelCount - listed),
  }
  const left = rows - above.length - below.length
  // TCP connections have half of the rows, or what the others leave.
  const tunnelRows = Math.min(rowsOf(tunnelList), Math.max(left >> 1, left - rowsOf(connectionList)))
  const lines = [
    ...above,
    ...listLines(connectionList, columns, left - tunnelRows),
    ...listLines(tunnelList, columns, tunnelRows),
    ...below,
  ]
  const rest = notesText(status, columns) + headText(status, columns, SAID_ABOVE)
  return [...lines, ...linesOf(rest).slice(0, Math.max(0, rows - lines.length))]
}

/** `weir 0.1.0 at 10.0.0.1, up 3min 2s, 95MB in memory`. */
function titleOf({ version, address, uptimeSeconds, residentBytes }: StatusReply): string {
  return `weir ${version} at ${address}, up ${uptime(uptimeSeconds)}, ${formatBytes(residentBytes)} in memory`
}

/** `2 transfers under way; since the start 1GB sent, 3 damaged chunks moved again`. */
function transfersOf({ transfers, sentBytes, receivedBytes, damagedChunks }: StatusReply): string {
  const done = [
    ...(sentBytes > 0 ? [`${formatBytes(sentBytes)} sent`] : []),
    ...(receivedBytes > 0 ? [`${formatBytes(receivedBytes)} received`] : []),
    ...(damagedChunks > 0 ? [`${damagedChunks} damaged chunks moved again`] : []),
  ]
  const now = `${transfers === 0 ? 'no' : transfers} ${transfers === 1 ? 'transfer' : 'transfers'} under way`
  return done.length === 0 ? now : `${now}; since the start ${done.join(', ')}`
}

/** Connections of one kind. */
interface List {
  head: readonly string[]
  rows: readonly (readonly string[])[]
  /** What is said of those that are not listed, '' = none. */
  more: (listed: number) => string
}

/** Lines that the whole list takes. */
function rowsOf({ rows, more }: List): number {
  return rows.length === 0 ? 0 : HEAD_ROWS + rows.length + (more(rows.length) === '' ? 0 : 1)
}

/** A line for each connection, as many as have room. */
function listLines(list: List, columns: number, rowsMost: number): string[] {
  const { head, rows, more } = list
  if (rows.length === 0 || rowsMost < 1) return []
  const most = rowsOf(list) <= rowsMost ? rows.length : rowsMost - HEAD_ROWS - 1
  if (most < 1) return [more(0)]
  const said = more(most)
  return [...linesOf(narrowTable(head, rows.slice(0, most), columns)), ...(said === '' ? [] : [said])]
}

/** A table without columns that say nothing, nor, where there is no room, those that are wanted least. The last one is cut. */
function narrowTable(head: readonly string[], rows: readonly (readonly string[])[], columns: number): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)))
  const last = head.length - 1
  const kept = new Set(head.keys())
  for (const i of kept) if (i > 0 && i < last && rows.every(row => NOTHING.includes(row[i]!))) kept.delete(i)
  const beside = () => [...kept].reduce((sum, i) => sum + (i === last ? 0 : widths[i]! + GAP_COLUMNS), 0)
  for (const name of LEAST_WANTED) {
    if (beside() + Math.min(widths[last]!, LAST_COLUMNS) <= columns) break
    kept.delete(head.indexOf(name))
  }
  const left = Math.max(1, columns - beside())
  const chosen = [...kept]
  const cells = rows.map(row => chosen.map(i => (i === last ? fit(row[i]!, left) : row[i]!)))
  return table(
    chosen.map(i => head[i]!),
    cells,
    1,
    columns,
    true,
  )
}
