import { Command, Option } from 'commander'
import { ccNames } from '../../lib/cc/catalogue.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { parsePathSettings } from '../../lib/cc/path-settings.js'
import { parseTelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import {
  connectDaemon,
  type DaemonClient,
  type PerfRequest,
  type Progress,
} from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { MOST } from '../../lib/options/option.js'
import { DURATION_MAX_NS, SIZE_MAX } from '../../lib/perf/settings.js'
import { PATH_MTUS } from '../../lib/qp/transport-options.js'
import { parseBytes } from '../../lib/units/units.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { addCongestionFlags } from './congestion-flags.js'
import { columnsMost } from './fit.js'
import { parseHost, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { intervalDisplay, type PerfTable, perfTable } from './perf-display.js'
import { type PerfReport, reportOf, type Test } from './perf-report.js'
import { withSocketOption } from './socket-option.js'
import { addValueOptions, type CommandOption, valuesOf } from './value-options.js'

/** Flags as commander returns them. */
export interface PerfFlags {
  op: 'write' | 'send' | 'read'
  size?: string
  all?: boolean
  qps: string
  depth: string
  duration?: string
  iters?: string
  warmup?: string
  bidirectional?: boolean
  mtu?: string
  cc?: string
  ccOption?: string[]
  telemetry?: string[]
  paths?: string[]
  busyPoll?: boolean
  histogram?: boolean
  json?: boolean
  port?: string
  socket: string
}

/** @param size default, as text */
function optionsOf(size: string) {
  return [
    {
      name: 'size',
      kind: 'bytes',
      min: 1,
      max: SIZE_MAX,
      doc: 'bytes of a message',
      command: { flag: '--size <bytes>', usual: size },
    },
    {
      name: 'duration',
      kind: 'time',
      min: 1,
      max: DURATION_MAX_NS,
      doc: 'how long to measure',
      command: { flag: '--duration <time>', usual: '5s; 1s a size with --all' },
    },
    {
      name: 'iterations',
      kind: 'count',
      min: 1,
      max: 1e12,
      doc: 'measure exactly so many messages per queue pair instead',
      command: { flag: '--iters <count>', usual: 'none' },
    },
    {
      name: 'warmup',
      kind: 'time',
      min: 0,
      max: MOST,
      doc: 'send this long before measuring',
      command: { flag: '--warmup <time>', usual: '200ms; 0 with --iters' },
    },
    {
      name: 'pathMtu',
      kind: 'choice',
      choices: PATH_MTUS,
      doc: 'payload of a packet',
      command: { flag: '--mtu <bytes>', usual: "the daemon's" },
    },
  ] as const satisfies readonly CommandOption[]
}

const BANDWIDTH_OPTIONS = [
  {
    name: 'qps',
    kind: 'count',
    min: 1,
    max: 512,
    default: 1,
    doc: 'queue pairs',
    command: { flag: '--qps <count>' },
  },
  {
    name: 'depth',
    kind: 'count',
    min: 1,
    max: 65_536,
    default: 128,
    doc: 'messages in flight on each queue pair, as far as there is room',
    command: { flag: '--depth <count>' },
  },
] as const satisfies readonly CommandOption[]

/** Sizes of perftest's `-a`: 2 B to 8 MiB. */
const ALL_SIZES = Array.from({ length: 23 }, (_, i) => 2 << i)
const DURATION_NS = 5e9
/** Time for each size, when all are measured, ns. */
const DURATION_OF_ALL_NS = 1e9
/** In this time V8 compiles and windows open. */
const WARMUP_NS = 2e8

/** `weir perf` */
export function perfCommand(): Command {
  return commandOf('perf')
    .enablePositionalOptions()
    .addCommand(testCommand('bw', 'bandwidth: many messages in flight', '64KiB'))
    .addCommand(testCommand('lat', 'latency: one message and its answer', '64'))
}

function testCommand(test: Test, what: string, size: string): Command {
  const isBw = test === 'bw'
  const command = new Command(test)
    .description(what)
    .argument('<host>', 'a name, an address, or weir://HOST:PORT')
    .addOption(
      new Option(
        '--op <operation>',
        isBw ? 'operation' : 'operation; a write carries an immediate, so that the other end notices it',
      )
        .choices(['write', 'send', 'read'])
        .default(isBw ? 'write' : 'send'),
    )
  addValueOptions(command, [...optionsOf(size), ...(isBw ? BANDWIDTH_OPTIONS : [])])
  if (isBw) command.option('--bidirectional', 'the other host sends too, as fast as it can')
  command
    .option('--all', 'all sizes from 2 bytes to 8 MiB, by powers of two')
    .addOption(
      new Option('--cc <name>', "congestion control of what this end sends (default: the daemon's)").choices(
        ccNames(),
      ),
    )
    .option('--busy-poll', 'both daemons poll for packets without sleeping: a whole core each')
    .option('-P, --port <n>', "UDP port of the host's daemon (default: that of the daemon on this host)")
    .option('--histogram', 'print the distribution of the times')
    .option('--json', 'print the outcome as JSON')
  withSocketOption(command)
  addCongestionFlags(command)
  return command.action((host: string, flags: PerfFlags) => runPerf(test, host, flags, size))
}

async function runPerf(test: Test, host: string, flags: PerfFlags, defaultSize: string): Promise<void> {
  const requests = requestsOf(test, host, flags, defaultSize)
  const cancelled = new AbortController()
  const client = await connectDaemon(flags.socket)
  const removeHandlers = cancelOnSignal(cancelled)
  const reports: PerfReport[] = []
  const table = flags.json ? null : perfTable(test, process.stdout, columnsMost(process.stdout))
  try {
    for (const request of requests) {
      const report = await measure(client, request, cancelled.signal, table)
      reports.push(report)
      table?.row(report)
      if (flags.histogram) table?.histogram(report)
    }
    table?.end(reports)
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== 'WEIR_CANCELLED' || !cancelled.signal.aborted)
      throw error
    throw new WeirError(error.code, error.message, { cause: cancelled.signal.reason })
  } finally {
    if (flags.json && (flags.all || reports.length > 0)) {
      process.stdout.write(`${JSON.stringify(flags.all ? reports : reports[0], null, 2)}\n`)
    }
    client.close()
    removeHandlers()
  }
}

async function measure(
  client: DaemonClient,
  request: PerfRequest,
  signal: AbortSignal,
  table: PerfTable | null,
): Promise<PerfReport> {
  const interval = intervalDisplay(request)
  let headed = false
  try {
    const onProgress = (progress: Progress) => {
      if (progress.state === 'measuring' && !headed) {
        headed = true
        interval?.clear()
        table?.head()
      }
      interval?.show(progress)
    }
    return reportOf(request, await client.perf(request, { signal, onProgress }))
  } finally {
    interval?.stop()
  }
}

/** Returns the requests for a measurement, one for each size. Throws WEIR_BAD_ARGUMENT. */
export function requestsOf(test: Test, host: string, flags: PerfFlags, defaultSize: string): PerfRequest[] {
  if (flags.all && flags.size !== undefined) throw bad('--all measures all sizes: leave --size out')
  if (flags.iters !== undefined && (flags.duration !== undefined || flags.warmup !== undefined)) {
    throw bad('--iters counts every message: leave --duration and --warmup out')
  }
  const usual = flags.all ? DURATION_OF_ALL_NS : DURATION_NS
  const values = valuesOf(optionsOf(defaultSize), flags)
  const { iterations = 0, durationNs = usual, warmupNs = WARMUP_NS, pathMtu = 0 } = values
  const { qps = 1, depth = 1 } = test === 'bw' ? valuesOf(BANDWIDTH_OPTIONS, flags) : {}
  const shared = {
    ...parseHost(host, portOption(flags.port)),
    test,
    op: flags.op,
    qps,
    depth,
    iterations,
    durationNs: iterations > 0 ? 0 : durationNs,
    warmupNs: iterations > 0 ? 0 : warmupNs,
    bidirectional: flags.bidirectional ?? false,
    busyPoll: flags.busyPoll ?? false,
    pathMtu,
    ...congestionOf(flags),
  }
  const sizes = flags.all ? ALL_SIZES : [values.sizeBytes ?? parseBytes(defaultSize)]
  return sizes.map(size => ({ ...shared, size }))
}

/**
 * Returns the congestion control of the request. It checks the options here, where the user sees the error.
 * Throws WEIR_BAD_ARGUMENT.
 */
function congestionOf({
  cc = '',
  ccOption = [],
  telemetry = [],
  paths = [],
}: PerfFlags): Pick<PerfRequest, 'congestionControl' | 'options' | 'telemetry' | 'paths'> {
  if (cc === '' && ccOption.length > 0) throw bad('--cc-option is of a congestion control: name it by --cc')
  const options = Object.entries(cc === '' ? {} : parseCcOptions(cc, ccOption))
  parseTelemetrySettings(telemetry)
  parsePathSettings(paths)
  const numbers = Object.fromEntries(options.map(([name, value]) => [name, Number(value)]))
  return { congestionControl: cc, options: numbers, telemetry, paths }
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}
