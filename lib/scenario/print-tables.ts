import Table from 'cli-table3'
import { formatBytes, formatDuration, formatPercent, formatRate } from '../units/units.js'
import { mean, percentile } from './fairness.js'
import { printDeadlocks } from './print-deadlocks.js'
import type { FlowResult, PortResult, RunResult } from './result.js'

/** Flows that are listed one by one; beyond, percentiles stand for them. */
const FLOW_ROWS_MAX = 32
/** Ports that are listed; beyond, the busiest are. */
const PORT_ROWS_MAX = 40

/** Rules above and below the head, and nothing else: reads well in a terminal, a pipe and a diff. */
const LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/**
 * A result for people, plain text without colours: a table of flows and one of switch ports. Fits 80 columns
 * unless names are long. Ports that carried nothing are left out.
 */
export function printTables(result: RunResult): string {
  const parts = [flowTable(result), portTable(result), printDeadlocks(result)]
  const { summary } = result
  if (summary !== undefined) {
    const window = `${formatDuration(summary.fromNs)} to ${formatDuration(summary.toNs)}`
    const busiest =
      summary.bottleneck === undefined
        ? ''
        : `, ${summary.bottleneck} busy ${formatPercent(summary.bottleneckUtilization ?? Number.NaN)}`
    parts.push(`From ${window}: Jain index ${summary.jainIndex.toFixed(4)}${busiest}\n`)
  }
  return parts.filter(part => part !== '').join('\n')
}

function flowTable(result: RunResult): string {
  const { flows } = result
  if (flows.length === 0) return 'No flows.\n'
  if (flows.length > FLOW_ROWS_MAX) return manyFlows(flows)
  const withPaths = flows.some(flow => flow.paths !== undefined)
  const withDigest = flows.some(flow => flow.digestEqual !== undefined)
  const head = ['flow', 'path', 'bytes', 'seconds', 'goodput', 'slowdown', 'resent']
  const rows = flows.map(flow => [
    flow.name,
    `${flow.from} > ${flow.to}`,
    flow.fctNs === null
      ? `${formatBytes(flow.ackedBytes)} of ${formatBytes(flow.bytes)}`
      : formatBytes(flow.bytes),
    flow.fctNs === null ? unfinished(flow) : seconds(flow.fctNs),
    formatRate(flow.goodputBps),
    flow.slowdown === null ? '-' : flow.slowdown.toFixed(2),
    formatBytes(flow.retransmittedBytes),
    ...(withPaths ? pathFigures(flow) : []),
    ...(withDigest ? [digestWord(flow)] : []),
  ])
  if (withPaths) head.push('port', 'moves', 'delayed')
  if (withDigest) head.push('digest')
  return table(head, rows, 2)
}

function unfinished({ refused, failed }: FlowResult): string {
  if (refused !== undefined) return 'refused'
  return failed === undefined ? 'cut off' : 'failed'
}

function pathFigures({ paths }: FlowResult): string[] {
  if (paths === undefined) return ['-', '-', '-']
  return [String(paths.sourcePort), String(paths.moves), formatDuration(paths.delayedNs)]
}

function digestWord(flow: FlowResult): string {
  if (flow.digestEqual === undefined) return '-'
  return flow.digestEqual ? 'equal' : 'DIFFERS'
}

function manyFlows(flows: readonly FlowResult[]): string {
  const done = flows.filter(flow => flow.fctNs !== null)
  const fcts = done.map(flow => flow.fctNs!)
  const slowdowns = done.map(flow => flow.slowdown).filter(value => value !== null)
  const row = (what: string, values: readonly number[], print: (value: number) => string) => [
    what,
    print(mean(values)),
    ...[0.5, 0.95, 0.99, 1].map(p => print(percentile(values, p))),
  ]
  const bytes = formatBytes(flows.reduce((sum, flow) => sum + flow.ackedBytes, 0))
  const resent = formatBytes(flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0))
  const timeouts = flows.reduce((sum, flow) => sum + flow.timeouts, 0)
  const rows = [
    row('completion', fcts, formatDuration),
    row('slowdown', slowdowns, value => (Number.isNaN(value) ? '-' : value.toFixed(2))),
    row(
      'goodput',
      done.map(flow => flow.goodputBps),
      formatRate,
    ),
  ]
  const refused = flows.filter(flow => flow.refused !== undefined).length
  const failed = flows.filter(flow => flow.failed !== undefined).length
  const moves = flows.reduce((sum, flow) => sum + (flow.paths?.moves ?? 0), 0)
  const more = `${refused > 0 ? `, ${refused} refused` : ''}${failed > 0 ? `, ${failed} failed` : ''}${moves > 0 ? `, ${moves} moves to other paths` : ''}`
  const lead = `${flows.length} flows, ${done.length} finished${more}, ${bytes}, ${resent} sent again, ${timeouts} timeouts\n\n`
  return lead + table(['', 'mean', 'p50', 'p95', 'p99', 'max'], rows, 1)
}

function portTable(result: RunResult): string {
  const used = result.ports.filter(port => port.txBytes > 0 || port.drops > 0)
  if (used.length === 0) return ''
  const shown = used.length > PORT_ROWS_MAX ? busiest(used) : used
  const head = ['port', 'rate', 'busy', 'peak queue', 'mean queue', 'marks', 'drops', 'pauses']
  const rows = shown.map(port => [
    port.name,
    formatRate(port.rateBps),
    formatPercent(port.utilization),
    formatBytes(port.maxQueueBytes),
    formatBytes(Math.round(port.meanQueueBytes)),
    String(port.ecnMarks),
    String(port.drops),
    String(port.pausesSent),
  ])
  const rest = used.length - shown.length
  return table(head, rows, 1) + (rest > 0 ? `and ${rest} ports with shorter queues\n` : '')
}

/** Those with the highest peaks, in their old order. */
function busiest(ports: readonly PortResult[]): PortResult[] {
  const threshold = ports.map(port => port.maxQueueBytes).sort((a, b) => b - a)[PORT_ROWS_MAX - 1]!
  return ports.filter(port => port.maxQueueBytes >= threshold).slice(0, PORT_ROWS_MAX)
}

/** Four significant digits; micro- and nanoseconds are said as such. */
function seconds(ns: number): string {
  return ns >= 1e6 ? String(Number((ns / 1e9).toPrecision(4))) : formatDuration(ns)
}

/** A table for people. @param leftColumns columns of words, aligned left; the others are figures */
export function table(head: string[], rows: string[][], leftColumns: number): string {
  const printed = new Table({
    head,
    colAligns: head.map((_, i) => (i < leftColumns ? 'left' : 'right')),
    chars: LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)))
  printed.push(
    widths.map(width => '-'.repeat(width)),
    ...rows,
  )
  const lines = printed.toString().split('\n')
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}
