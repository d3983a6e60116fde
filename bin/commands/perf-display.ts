/** Output of `weir perf`: perftest's columns, interval lines on a terminal, a histogram. */
import type { PerfRequest, Progress } from '../../lib/client/daemon-client.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { bands } from '../../lib/scenario/result/table.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { liveLines } from '../progress/live-lines.js'
import { StatusLine } from '../progress/status-line.js'
import type { PerfReport } from './perf-report.js'

interface Output {
  write(text: string): unknown
}

/**
 * The units of ib_write_bw and ib_write_lat: sizes in bytes, Gbit/s, millions of messages a second,
 * microseconds.
 */
const COLUMNS = {
  bw: ['#bytes  ', '#iterations', 'BW peak[Gb/sec]', 'BW average[Gb/sec]', 'MsgRate[Mpps]'],
  lat: [
    '#bytes  ',
    '#iterations',
    't_min[usec]',
    't_max[usec]',
    't_typical[usec]',
    't_avg[usec]',
    't_stdev[usec]',
    '99% percentile[usec]',
    '99.9% percentile[usec]',
    '99.99% percentile[usec]',
  ],
}
const BAR_WIDTH = 50
/** Columns of a histogram's line before its bar. */
const BAR_LEFT = 29
/** Stands for a value that was not measured. */
const UNKNOWN = '-'

export interface PerfTable {
  /** Prints the names of the columns once. Rows print them first if it was not called. */
  head(): void
  row(report: PerfReport): void
  histogram(report: PerfReport): void
  /** Prints what the columns do not show. */
  end(reports: readonly PerfReport[]): void
}

/** @param columns of the terminal; a wider row is folded into bands, each with its names above it */
export function perfTable(test: 'bw' | 'lat', output: Output, columns = Number.POSITIVE_INFINITY): PerfTable {
  const names = COLUMNS[test]
  const line = (cells: readonly string[], band: readonly number[]) =>
    ` ${band.map(i => cells[i]!.padEnd(names[i]!.length)).join('  ')}`.trimEnd()
  const [band, ...more] = bands(
    names.map(name => name.length),
    columns - 1,
  )
  let begun = false
  const head = () => {
    if (!begun && more.length === 0) output.write(`${line(names, band!)}\n`)
    begun = true
  }
  return {
    head,
    row: report => {
      head()
      const cells = test === 'bw' ? bandwidthCells(report) : latencyCells(report)
      if (more.length === 0) output.write(`${line(cells, band!)}\n`)
      else for (const one of [band!, ...more]) output.write(`${line(names, one)}\n${line(cells, one)}\n`)
    },
    histogram: report => {
      if (report.histogram.length > 0)
        output.write(histogramText(report, Math.min(BAR_WIDTH, columns - BAR_LEFT)))
    },
    end: reports => output.write(fold(remarks(reports), columns, 2)),
  }
}

function bandwidthCells(report: PerfReport): string[] {
  const { size, messages, peakBps, goodputBps, messagesPerSecond, remote } = report
  if (goodputBps === null) return [String(size), String(messages), UNKNOWN, UNKNOWN, UNKNOWN]
  const remoteMessages = (remote?.goodputBps ?? 0) / 8 / size
  return [
    String(size),
    String(messages),
    (Math.max(peakBps!, goodputBps) / 1e9).toFixed(3),
    (goodputBps / 1e9).toFixed(3),
    ((messagesPerSecond! + remoteMessages) / 1e6).toFixed(6),
  ]
}

function latencyCells({ size, messages, latencyUs }: PerfReport): string[] {
  if (latencyUs === null) return [String(size), String(messages), ...COLUMNS.lat.slice(2).map(() => UNKNOWN)]
  const { min, max, p50, mean, stdev, p99, p999, p9999 } = latencyUs
  const times = [min, max, p50, mean, stdev, p99, p999, p9999]
  return [String(size), String(messages), ...times.map(us => us.toFixed(2))]
}

/** Formats one line per power of two, with a bar for its share. */
function histogramText({ histogram }: PerfReport, barWidth: number): string {
  const most = Math.max(1, ...histogram.map(({ count }) => count))
  const lines = histogram.map(({ fromUs, count }) => {
    const from = `from ${formatDuration(Math.round(fromUs * 1000))}`
    return `   ${from.padEnd(14)} ${String(count).padStart(10)} ${'#'.repeat(Math.ceil((Math.max(1, barWidth) * count) / most))}`
  })
  return `${lines.join('\n')}\n`
}

function remarks(reports: readonly PerfReport[]): string {
  const last = reports.at(-1)
  if (last === undefined) return ''
  const { op, io, qps, depth, mtu, pathMtu, baseRttUs, controller, controllerReason } = last
  const retransmitted = reports.reduce((sum, report) => sum + report.retransmittedBytes, 0)
  const what = last.test === 'bw' ? `${op}, ${qps} x ${depth} in flight` : `${op}, ${halfOrWhole(op)}`
  return (
    reports.map(unmeasured).join('') +
    ` ${what}; io ${io}, MTU ${mtu}: packets of ${pathMtu} bytes, base RTT ${baseRttUs === null ? 'unknown' : formatDuration(baseRttUs * 1000)}; ` +
    `CPU ${cpuText(last)}${reports.length > 1 ? ` at ${last.size} bytes` : ''}; retransmitted ${formatBytes(retransmitted)}\n` +
    ` controlled by ${controller}: ${controllerReason}\n` +
    ` ${sealText(last)}\n`
  )
}

function sealText({ op, sealedWith, payload }: PerfReport): string {
  if (sealedWith === '') return 'in the clear'
  if (payload === 'sealed') return `sealed with ${sealedWith}`
  return `connections sealed with ${sealedWith}, payload in the clear: nothing seals what --op ${op} moves, --op send is sealed`
}

/** Returns why a row has no figures. Empty if it has some. */
function unmeasured({ size, messagesPerSecond, goodputBps }: PerfReport): string {
  if (goodputBps !== null) return ''
  const whose = messagesPerSecond === null ? 'this host' : 'the other host'
  return ` ${size} bytes: not measured: ${whose} completed no message in the time; try again, or give a longer --duration\n`
}

/** Formats the CPU time of this host's daemon and of the other host's. */
function cpuText({ test, size, cpuSecondsPerGB }: PerfReport): string {
  if (cpuSecondsPerGB === null) return 'not measured'
  const { local, remote } = cpuSecondsPerGB
  if (test === 'bw') return `${local.toFixed(3)} + ${remote.toFixed(3)} s/GB`
  const usPerMessage = (secondsPerGB: number) => ((secondsPerGB * size) / 1e3).toFixed(1)
  return `${usPerMessage(local)} + ${usPerMessage(remote)} us a message`
}

function halfOrWhole(op: string): string {
  return op === 'read' || op === 'atomic' ? 'the whole round trip' : 'half of the round trip'
}

/** Returns a line with the progress of a measurement on a terminal. Elsewhere null. */
export function intervalDisplay(request: PerfRequest, stream: NodeJS.WriteStream = process.stderr) {
  const lines = liveLines(stream)
  if (lines === null) return null
  const line = new StatusLine()
  const began = performance.now()
  return {
    show({ state, goodputBps, rttNs, retransmittedBytes }: Progress) {
      const seconds = ((performance.now() - began) / 1000).toFixed(0)
      const messages = Math.round(goodputBps / 8 / request.size)
      const parts = [
        { text: `${seconds.padStart(3)} s`, rank: 1 },
        { text: state, rank: 3 },
        { text: formatRate(Math.round(goodputBps)), rank: 0 },
        { text: `${messages} messages/s`, rank: 4 },
        { text: `RTT ${formatDuration(rttNs)}`, rank: 2 },
        { text: `retransmitted ${formatBytes(retransmittedBytes)}`, rank: 5 },
      ]
      lines.draw(columns => [line.layout(columns, { parts })])
    },
    /** Removes the line while others are written. */
    clear: () => lines.clear(),
    stop: () => lines.close(),
  }
}
