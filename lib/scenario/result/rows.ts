/** What reports list of flows and ports: the same for a terminal and for a page. */
import { formatBytes, formatDuration, formatPercent, formatRate } from '../../units/units.js'
import { featureColumns } from './feature-columns.js'
import type { FlowResult, PortResult, Spread, Totals } from './result.js'
import type { TableData } from './table.js'

/** Stands for an unknown value. */
const NOTHING = '-'

/** Flows one by one. */
export function flowRows(flows: readonly FlowResult[]): TableData {
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
  return { head, rows, leftColumns: 2 }
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

/** Percentiles over all flows. */
export function spreadRows(totals: Totals): TableData {
  const row = (what: string, spread: Spread | null, print: (value: number) => string) => {
    const values = spread && [spread.mean, spread.p50, spread.p95, spread.p99, spread.max]
    return [what, ...(values?.map(print) ?? new Array<string>(5).fill(NOTHING))]
  }
  const rows = [
    row('completion', totals.completionNs, formatDuration),
    row('slowdown', totals.slowdown, value => value.toFixed(2)),
    row('goodput', totals.goodputBps, formatRate),
  ]
  return { head: ['', 'mean', 'p50', 'p95', 'p99', 'max'], rows, leftColumns: 1 }
}

/** What all flows did together, in a line. */
export function flowCounts(totals: Totals): string {
  const counts = [
    `${totals.flows} flows, ${totals.finished} finished`,
    ...(totals.refused > 0 ? [`${totals.refused} refused`] : []),
    ...(totals.failed > 0 ? [`${totals.failed} failed`] : []),
    ...(totals.moves > 0 ? [`${totals.moves} moves to other paths`] : []),
    formatBytes(totals.ackedBytes),
    `${formatBytes(totals.retransmittedBytes)} retransmitted`,
    `${totals.timeouts} timeouts`,
  ]
  return counts.join(', ')
}

/** Ports one by one. */
export function portRows(shown: readonly PortResult[]): TableData {
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
  return { head, rows, leftColumns: 1 }
}

/** Returns ports that carried or dropped something. Of more than `most` the ones with the highest peaks, in their old order. */
export function portsOfUse(
  ports: readonly PortResult[],
  most: number,
): { shown: PortResult[]; rest: number } {
  const used = ports.filter(port => port.txBytes > 0 || port.drops > 0)
  if (used.length <= most) return { shown: used, rest: 0 }
  const threshold = used.map(port => port.maxQueueBytes).sort((a, b) => b - a)[most - 1]!
  const shown = used.filter(port => port.maxQueueBytes >= threshold).slice(0, most)
  return { shown, rest: used.length - shown.length }
}

/** Formats a time in seconds with four significant digits; short ones in micro- or nanoseconds. */
function seconds(ns: number): string {
  return ns >= 1e6 ? String(Number((ns / 1e9).toPrecision(4))) : formatDuration(ns)
}
