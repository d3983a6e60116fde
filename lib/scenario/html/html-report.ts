/** The report of a run as a page. */
import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import { formatBytes, formatDuration } from '../../units/units.js'
import { featureLines } from '../result/feature-columns.js'
import { inofChanges, inofHosts, inofLines, inofPeers, inofZones } from '../result/inof-result.js'
import { printDeadlocks } from '../result/print-deadlocks.js'
import { linkRows, timelineRows } from '../result/print-links.js'
import { realTimeLines, summaryLine } from '../result/print-tables.js'
import { type RunResult, TIMELINE_MAX } from '../result/result.js'
import { flowCounts, flowRows, portRows, portsOfUse, spreadRows } from '../result/rows.js'
import { chartHtml } from './chart.js'
import { chartsOf } from './charts.js'
import { escaped, htmlLines, htmlPage, htmlSection, htmlTable } from './page.js'

/** Rows of a table. The JSON has all. */
const FLOWS_MAX = 500
const PORTS_MAX = 200
/** Flows whose failure is explained. */
const REASONS_MAX = 20

/** Returns one HTML file, which loads nothing: the tables of a result, what features of switches did and why, and graphs of what was sampled. */
export function htmlReport(result: RunResult): string {
  const { scenario, on, seed, version, command = [] } = result
  const where = on === 'virtual' ? 'in virtual time' : `in real time, on ${on}`
  const head =
    `<h1>${escaped(scenario.name)}</h1>\n` +
    `<p>${escaped(`${where}, seed ${seed}, Weir ${version}`)}${command.length > 0 ? `: <code>weir ${escaped(command.join(' '))}</code>` : ''}</p>\n`
  const body = [
    head,
    figures(result),
    htmlLines((result.summary ? summaryLine(result.summary) : '') + printDeadlocks(result)),
    htmlLines(result.realTime ? realTimeLines(result.realTime) : ''),
    htmlSection('Over time', graphs(result)),
    ...moments(result),
    htmlSection('Flows', flows(result)),
    htmlSection('Ports', ports(result)),
    htmlSection('Queues and tables of switches', htmlLines(featureLines(result.ports))),
    htmlSection('Links', result.links === undefined ? '' : htmlTable(linkRows(result.links))),
    htmlSection('Events', events(result)),
    htmlSection('iNOF', inof(result)),
    `<section><h2>Scenario</h2><details><summary>${escaped(scenario.file)}</summary>${htmlLines(scenario.text)}</details></section>\n`,
  ]
  return htmlPage(`${scenario.name}: report of Weir`, body.join(''))
}

function figures({ totals, ports: all }: RunResult): string {
  const sum = (of: (port: RunResult['ports'][number]) => number) =>
    all.reduce((total, port) => total + of(port), 0)
  const list: [string, string][] = [
    ['flows finished', `${totals.finished} of ${totals.flows}`],
    ['delivered', formatBytes(totals.ackedBytes)],
    [
      'completion, median and p99',
      totals.completionNs === null
        ? '-'
        : `${formatDuration(totals.completionNs.p50)}, ${formatDuration(totals.completionNs.p99)}`,
    ],
    ['retransmitted', formatBytes(totals.retransmittedBytes)],
    ['drops', String(totals.drops)],
    ['ECN marks', String(sum(port => port.ecnMarks))],
    ['PFC pauses', String(sum(port => port.pausesSent))],
  ]
  const cells = list.map(
    ([name, value]) => `<div><b>${escaped(value)}</b><span>${escaped(name)}</span></div>`,
  )
  return `<div class="figures">${cells.join('')}</div>\n`
}

function graphs(result: RunResult): string {
  const charts = chartsOf(result)
  if (charts.length === 0)
    return '<p>Nothing was sampled. With <code>watch: { queues: [s1:s2], every: 1ms }</code> in the scenario, queues and flows are drawn here.</p>\n'
  return charts.map(chart => chartHtml(chart, formatDuration)).join('')
}

/** What features did, and why: a list for each feature. */
function moments({ ports: all }: RunResult): string[] {
  return featureEntries().flatMap(({ moments: listed }) => {
    if (listed === undefined) return []
    const rows = all.flatMap(port => listed.of(port as never).map(moment => ({ port: port.name, moment })))
    if (rows.length === 0) return []
    const heads = Object.keys(rows[0]!.moment.cells)
    const table = htmlTable({
      head: ['at', 'queue', ...heads],
      rows: rows.map(({ port, moment: { atNs, of, cells } }) => [
        formatDuration(atNs),
        `${port}.${of}`,
        ...heads.map(name => cells[name]!),
      ]),
      leftColumns: 2 + heads.length,
    })
    return [htmlSection(listed.title, table)]
  })
}

function flows({ flows: all, totals }: RunResult): string {
  const rest = all.length - FLOWS_MAX
  const more = rest > 0 ? `<p>${rest} more: <code>--json</code> writes all.</p>\n` : ''
  const spread =
    all.length > 1 ? `<p>${escaped(flowCounts(totals))}</p>\n${htmlTable(spreadRows(totals))}` : ''
  return spread + htmlTable(flowRows(all.slice(0, FLOWS_MAX))) + more + htmlLines(reasons(all))
}

/** Why flows failed or were refused. */
function reasons(all: RunResult['flows']): string {
  const lines = all.flatMap(({ name, failed, refused }) => {
    const why = failed ?? refused
    return why === undefined ? [] : [`${name}: ${why}`]
  })
  const rest = lines.length - REASONS_MAX
  return [...lines.slice(0, REASONS_MAX), ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}

function ports({ ports: all }: RunResult): string {
  const { shown, rest } = portsOfUse(all, PORTS_MAX)
  if (shown.length === 0) return ''
  return htmlTable(portRows(shown)) + (rest > 0 ? `<p>${rest} others have shorter queues.</p>\n` : '')
}

/** Those that the result has. */
function events({ timeline = [] }: RunResult): string {
  if (timeline.length === 0) return ''
  const more =
    timeline.length >= TIMELINE_MAX ? `<p>The first ${TIMELINE_MAX}: a result has no more.</p>\n` : ''
  return more + htmlTable(timelineRows(timeline))
}

function inof({ inof: result }: RunResult): string {
  if (result === undefined) return ''
  const { hosts, zones, peers, changes } = result
  const tables = [inofHosts(hosts), inofZones(zones), inofPeers(peers), inofChanges(changes)]
  return (
    htmlLines(inofLines(result)) +
    tables
      .filter(({ rows }) => rows.length > 0)
      .map(htmlTable)
      .join('')
  )
}
