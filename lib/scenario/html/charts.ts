/** Which graphs a result has. */
import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import { formatBytes, formatPercent, formatRate } from '../../units/units.js'
import type { PortResult, RunResult, Series } from '../result/result.js'
import { seriesName } from '../result/series.js'
import type { Chart, Line, Mark } from './chart.js'

/** Ports that are drawn; those with the longest queues. */
const PORTS_MAX = 24
/** Flows in one graph: those that moved most. */
const FLOWS_MAX = 8
/** Thresholds lie between some packets and megabytes. */
const LOG_FROM_BYTES = 1000
const LOW_REM = 5

/** Returns the graphs of what a run has sampled, in the order of the page; none: it has sampled nothing. */
export function chartsOf(result: RunResult): Chart[] {
  const span = spanOf(result)
  if (span === null) return []
  const events = (result.timeline ?? []).map(({ atNs, event }) => ({ atNs, text: event }))
  const ports = result.ports
    .filter(({ name }) => result.series[seriesName('queue', name)] !== undefined)
    .sort((a, b) => b.maxQueueBytes - a.maxQueueBytes)
    .slice(0, PORTS_MAX)
  return [
    ...ports.flatMap(port => portCharts(result, port, events).map(chart => ({ ...chart, ...span }))),
    ...flowChart(result, events).map(chart => ({ ...chart, ...span })),
  ]
}

type Unplaced = Omit<Chart, 'fromNs' | 'toNs'>

function spanOf({ series }: RunResult): { fromNs: number; toNs: number } | null {
  // One by one: a hundred thousand flows have more series than a call may have arguments.
  let fromNs = Number.POSITIVE_INFINITY
  let toNs = Number.NEGATIVE_INFINITY
  for (const { timesNs } of Object.values(series)) {
    fromNs = Math.min(fromNs, timesNs[0] ?? fromNs)
    toNs = Math.max(toNs, timesNs.at(-1) ?? toNs)
  }
  return fromNs <= toNs ? { fromNs, toNs } : null
}

/** Queue and thresholds, then what else was sampled of the port, then its rate. */
function portCharts(result: RunResult, port: PortResult, events: readonly Mark[]): Unplaced[] {
  const { name } = port
  const { series } = result
  const queue: Line = { name: 'queue', ...series[seriesName('queue', name)]!, area: true }
  const followed = followedQueues(result, port)
  const charts: Unplaced[] = followed.flatMap(of => {
    const marks = [...events, ...momentMarks(port, of)]
    const line = (kind: 'kmin' | 'kmax' | 'pmax' | 'pauses') => series[seriesName(kind, `${name}.${of}`)]
    const held = (kind: 'kmin' | 'kmax', title: string): Line[] => {
      const own = line(kind)
      return own === undefined ? [] : [{ name: title, ...own, steps: true, dashed: kind === 'kmax' }]
    }
    const pmax = line('pmax')
    const pauses = line('pauses')
    return [
      {
        title: `${name}, priority ${of}: queue of the port, and thresholds of marking (logarithmic)`,
        lines: [queue, ...held('kmin', 'Kmin'), ...held('kmax', 'Kmax')],
        marks,
        format: formatBytes,
        logFrom: LOG_FROM_BYTES,
        height: 14,
      },
      ...(pmax === undefined
        ? []
        : [
            {
              title: `${name}, priority ${of}: Pmax`,
              lines: [{ name: 'Pmax', ...pmax, steps: true }],
              marks,
              format: formatPercent,
              least: 1,
              height: LOW_REM,
            },
          ]),
      ...(pauses === undefined || pauses.values.every(value => value === 0)
        ? []
        : [
            {
              title: `${name}, priority ${of}: PFC pauses sent to those who send to it, so far`,
              lines: [{ name: 'pauses', ...pauses, steps: true, area: true }],
              marks: events,
              format: String,
              least: 4,
              height: LOW_REM,
            },
          ]),
    ]
  })
  if (charts.length === 0)
    charts.push({ title: `${name}: queue`, lines: [queue], marks: events, format: formatBytes })
  const sent = series[seriesName('tx', name)]
  if (sent !== undefined && sent.timesNs.length > 1) {
    const lines = [{ name: 'sent', ...rateOf(sent), area: true }]
    charts.push({
      title: `${name}: rate`,
      lines,
      marks: events,
      format: formatRate,
      least: port.rateBps,
      height: 7,
    })
  }
  return charts
}

/** What at a port has thresholds that follow the traffic: its priorities. */
function followedQueues({ series }: RunResult, { name }: PortResult): string[] {
  const head = seriesName('kmin', `${name}.`)
  return Object.keys(series)
    .filter(key => key.startsWith(head))
    .map(key => key.slice(head.length))
}

function momentMarks(port: PortResult, of: string): Mark[] {
  return featureEntries()
    .flatMap(({ moments }) => moments?.of(port as never) ?? [])
    .filter(moment => moment.of === of)
    .map(({ atNs, kind, cells }) => ({
      atNs,
      kind: `decision: ${kind}`,
      text: Object.values(cells).join(', '),
    }))
}

function flowChart({ flows, series }: RunResult, events: readonly Mark[]): Unplaced[] {
  const sampled = flows.flatMap(({ name }) => {
    const own = series[seriesName('acked', name)]
    return own === undefined || own.timesNs.length < 2 ? [] : [{ name, own }]
  })
  if (sampled.length === 0) return []
  const moved = ({ own }: (typeof sampled)[number]) => own.values.at(-1)!
  const shown = [...sampled].sort((a, b) => moved(b) - moved(a)).slice(0, FLOWS_MAX)
  const which = shown.length < sampled.length ? ` of ${shown.length} of ${sampled.length} flows` : ''
  return [
    {
      title: `Goodput${which}`,
      lines: shown.map(({ name, own }) => ({ name, ...rateOf(own) })),
      marks: events,
      format: formatRate,
      height: 14,
    },
  ]
}

/** The mean rate is taken over at least so many samples, because single ones show packets, and over at least such a part of all. */
const RATE_SAMPLES = 5
const RATE_PARTS = 250

/** The rate of a counter of bytes, bit/s. */
function rateOf({ timesNs, values }: Series): Pick<Line, 'timesNs' | 'values'> {
  const samples = Math.max(RATE_SAMPLES, Math.ceil(timesNs.length / RATE_PARTS))
  const rates = timesNs.map((at, i) => {
    const before = Math.max(0, i - samples)
    const spanNs = at - timesNs[before]!
    return spanNs <= 0 ? 0 : Math.max(0, ((values[i]! - values[before]!) * 8e9) / spanNs)
  })
  return { timesNs, values: rates }
}
