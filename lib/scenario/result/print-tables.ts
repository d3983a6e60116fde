import { formatDuration, formatPercent } from '../../units/units.js'
import { featureLines } from './feature-columns.js'
import { fold } from './fold.js'
import { inofText } from './inof-result.js'
import { printDeadlocks } from './print-deadlocks.js'
import { linkTable, timelineText } from './print-links.js'
import type { RealTimeResult, RunResult, Summary } from './result.js'
import { flowCounts, flowRows, portRows, portsOfUse, spreadRows } from './rows.js'
import { tableText } from './table.js'

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
  if (result.summary !== undefined) parts.push(said(summaryLine(result.summary)))
  if (result.realTime !== undefined) parts.push(said(realTimeLines(result.realTime)))
  return parts.filter(part => part !== '').join('\n')
}

function flowTable({ flows, totals }: RunResult, columns: number): string {
  if (flows.length === 0) return 'No flows.\n'
  if (flows.length <= FLOW_ROWS_MAX) return tableText(flowRows(flows), columns)
  return `${fold(flowCounts(totals), columns, 2)}\n\n${tableText(spreadRows(totals), columns)}`
}

function portTable({ ports }: RunResult, columns: number): string {
  const { shown, rest } = portsOfUse(ports, PORT_ROWS_MAX)
  if (shown.length === 0) return ''
  return tableText(portRows(shown), columns) + (rest > 0 ? 'and others with shorter queues\n' : '')
}

/** Says how fairly flows shared the network. */
export function summaryLine({ fromNs, toNs, jainIndex, bottleneck, bottleneckUtilization }: Summary): string {
  const window = `${formatDuration(fromNs)} to ${formatDuration(toNs)}`
  const busiest =
    bottleneck === undefined
      ? ''
      : `, ${bottleneck} busy ${formatPercent(bottleneckUtilization ?? Number.NaN)}`
  return `From ${window}: Jain index ${jainIndex?.toFixed(4) ?? NOTHING}${busiest}\n`
}

/** Says how far the machine lagged behind the emulated network. */
export function realTimeLines({
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
