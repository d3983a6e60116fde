import { formatBytes, formatDuration, formatPercent, formatRate } from '../../units/units.js'
import { featureColumns, featureLines } from './feature-columns.js'
import { fold } from './fold.js'
import { inofText } from './inof-result.js'
import { printDeadlocks } from './print-deadlocks.js'
import { linkTable, timelineText } from './print-links.js'
import type { FlowResult, PortResult, RealTimeResult, RunResult, Spread, Totals } from './result.js'
import { table } from './table.js'

/** Flows that the table lists one by one. For more flows it shows percentiles. */
const FLOW_ROWS_MAX = 32
/** Ports that the table lists. If there are more, it lists those with the longest queues. */
const PORT_ROWS_MAX = 40

/** Stands for an unknown value. */
const NOTHING = '-'

/**
 * Formats a result for people, as plain text without colours: a table of flows and one of switch ports. It
 * leaves out ports that carried nothing. It fits 80 columns unless names are long.
 *
 * @param columns of the terminal; wider tables are folded
 */
export function printTables(result: RunResult, columns = Number.POSITIVE_INFINITY): string {
  const said = (text: string) => fold(text, columns, 2)
  const parts = [
    flowTable(result, columns),
    portTable(result, columns),
    linkTable(result.links ?? [], columns),
    timelineText(result),
    inofText(result.inof, columns),
    said(featureLines(result.ports)),
    said(printDeadlocks(result)),
  ]
  const { summary } = result
  if (summary !== undefined) {
    const window = `${formatDuration(summary.fromNs)} to ${formatDuration(summary.toNs)}`
    const busiest =
      summary.bottleneck === undefined
        ? ''
        : `, ${summary.bottleneck} busy ${formatPercent(summary.bottleneckUtilization ?? Number.NaN)}`
    parts.push(said(`From ${window}: Jain index ${summary.jainIndex?.toFixed(4) ?? NOTHING}${busiest}\n`))
  }
  if (result.realTime !== undefined) parts.push(said(realTimeLines(result.realTime)))
  return parts.filter(part => part !== '').join('\n')
}

/** Says how far the machine lagged behind the emulated network. */
function realTimeLines({
  keptUp,
  frames,
  lateShare,
  lateLimitNs,
  lateNs,
  lostFrames,
}: RealTimeResult): string {
  if (lateShare === null) return 'Real time: no frame reached a host\n'
  const late = `${formatPercent(lateShare)} of ${frames} frames came more than ${formatDuration(lateLimitNs)} late`
  const spread = `half within ${formatDuration(lateNs.p50)}, longest ${formatDuration(lateNs.max)}`
  const lost = lostFrames === 0 ? '' : `; ${lostFrames} lost between processes`
  const verdict = keptUp ? '' : 'The machine did not keep up: times and rates are its own\n'
  return `Real time: ${late} (${spread})${lost}\n${verdict}`
}

function flowTable(result: RunResult, columns: number): string {
  const { flows } = result
  if (flows.length === 0) return 'No flows.\n'
  if (flows.length > FLOW_ROWS_MAX) return manyFlows(result.totals, columns)
  const withPaths = flows.some(flow => flow.paths !== undefined)
  const withDigest = flows.some(flow => flow.digestEqual !== undefined)
  const head = ['flow', 'path', 'bytes', 'seconds', 'goodput', 'slowdown', 'retrans']
  const rows = flows.map(flow => [
    flow.name,
    `${flow.from} > ${flow.to}`,
    flow.fctNs === null
      ? `${formatBytes(flow.ackedBytes)} of ${formatBytes(flow.bytes)}`
      : formatBytes(flow.bytes),
    flow.fctNs === null ? unfinished(flow) : seconds(flow.fctNs),
    flow.goodputBps === null ? NOTHING : formatRate(flow.goodputBps),
    flow.slowdown === null ? NOTHING : flow.slowdown.toFixed(2),
    formatBytes(flow.retransmittedBytes),
    ...(withPaths ? pathFigures(flow) : []),
    ...(withDigest ? [digestWord(flow)] : []),
  ])
  if (withPaths) head.push('port', 'moves', 'delayed')
  if (withDigest) head.push('digest')
  return table(head, rows, 2, columns)
}

function unfinished({ refused, failed }: FlowResult): string {
  if (refused !== undefined) return 'refused'
  return failed === undefined ? 'cut off' : 'failed'
}

function pathFigures({ paths }: FlowResult): string[] {
  if (paths === undefined) return [NOTHING, NOTHING, NOTHING]
  return [String(paths.sourcePort), String(paths.moves), formatDuration(paths.delayedNs)]
}

function digestWord(flow: FlowResult): string {
  if (flow.digestEqual === undefined) return NOTHING
  return flow.digestEqual ? 'equal' : 'DIFFERS'
}

function manyFlows(totals: Totals, columns: number): string {
  const row = (what: string, spread: Spread | null, print: (value: number) => string) => {
    const values = spread && [spread.mean, spread.p50, spread.p95, spread.p99, spread.max]
    return [what, ...(values?.map(print) ?? new Array<string>(5).fill(NOTHING))]
  }
  const rows = [
    row('completion', totals.completionNs, formatDuration),
    row('slowdown', totals.slowdown, value => value.toFixed(2)),
    row('goodput', totals.goodputBps, formatRate),
  ]
  const counts = [
    `${totals.flows} flows, ${totals.finished} finished`,
    ...(totals.refused > 0 ? [`${totals.refused} refused`] : []),
    ...(totals.failed > 0 ? [`${totals.failed} failed`] : []),
    ...(totals.moves > 0 ? [`${totals.moves} moves to other paths`] : []),
    formatBytes(totals.ackedBytes),
    `${formatBytes(totals.retransmittedBytes)} retransmitted`,
    `${totals.timeouts} timeouts`,
  ]
  return `${fold(counts.join(', '), columns, 2)}\n\n${table(['', 'mean', 'p50', 'p95', 'p99', 'max'], rows, 1, columns)}`
}

function portTable(result: RunResult, columns: number): string {
  const used = result.ports.filter(port => port.txBytes > 0 || port.drops > 0)
  if (used.length === 0) return ''
  const shown = used.length > PORT_ROWS_MAX ? busiest(used) : used
  const features = featureColumns(shown)
  // Packets that switches make wait in memory of their own: where there were some, it has a column.
  const hasOwn = shown.some(({ maxOwnBytes }) => maxOwnBytes !== undefined)
  const head = ['port', 'rate', 'busy', 'peak queue', 'mean queue', 'marks', 'drops', 'pauses']
  head.push(...(hasOwn ? ['own peak'] : []), ...features.head)
  const rows = shown.map(port => [
    port.name,
    formatRate(port.rateBps),
    port.utilization === null ? NOTHING : formatPercent(port.utilization),
    formatBytes(port.maxQueueBytes),
    formatBytes(Math.round(port.meanQueueBytes)),
    String(port.ecnMarks),
    String(port.drops),
    String(port.pausesSent),
    ...(hasOwn ? [formatBytes(port.maxOwnBytes ?? 0)] : []),
    ...features.cells(port),
  ])
  const rest = used.length - shown.length
  return table(head, rows, 1, columns) + (rest > 0 ? 'and others with shorter queues\n' : '')
}

/** Returns the ports with the highest peaks, in their old order. */
function busiest(ports: readonly PortResult[]): PortResult[] {
  const threshold = ports.map(port => port.maxQueueBytes).sort((a, b) => b - a)[PORT_ROWS_MAX - 1]!
  return ports.filter(port => port.maxQueueBytes >= threshold).slice(0, PORT_ROWS_MAX)
}

/** Formats a time in seconds with four significant digits; short ones in micro- or nanoseconds. */
function seconds(ns: number): string {
  return ns >= 1e6 ? String(Number((ns / 1e9).toPrecision(4))) : formatDuration(ns)
}
