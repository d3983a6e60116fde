import { Command } from 'commander'
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
import { OPS } from '../../lib/interop/perftest/tests.js'
import type { CommandOption, IdleRule } from '../../lib/options/option.js'
import { DEPTH, DURATION, ITERATIONS, OP, PATH_MTU, QPS, SIZE, WARMUP } from '../../lib/perf/perf-options.js'
import { columnsMost } from '../../lib/text-width.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { addCongestionFlags, ccOption } from './congestion-flags.js'
import { PEER_PORT, parseHost } from './host-path.js'
import { commandOf } from './names.js'
import { intervalDisplay, type PerfTable, perfTable } from './perf-display.js'
import {
  CLIENTS_ONLY,
  DAEMONS_ONLY,
  PERFTEST_OPTIONS,
  type PerftestValues,
  runPerftest,
  sharesReceives,
} from './perf-perftest.js'
import { type PerfReport, reportOf, type Test } from './perf-report.js'
import { withSocketOption } from './socket-option.js'
import { addValueOptions, valuesOf } from './value-options.js'

/** Flags as commander returns them. */
export interface PerfFlags {
  op?: string
  size?: string
  all?: boolean
  qps?: string
  depth?: string
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
  perftest?: boolean
  rdmaCm?: boolean
  listen?: boolean
  address?: string
  io?: string
  perftestPort?: string
  socket: string
}

function flag(name: string, doc: string, more: Partial<CommandOption> = {}) {
  return { name, kind: 'flag', doc, command: { flag: `--${name}` }, ...more } as CommandOption
}

/** A row of another table, with rules of this one. */
function withRules<O extends CommandOption>(option: O, more: Partial<CommandOption>): CommandOption {
  return { ...option, ...more } as CommandOption
}

/** A listening end of perftest that only answers. */
const ONE_WAY = { listen: true, bidirectional: { given: false } } as const
const LISTENS_FOR_ALL: IdleRule = {
  while: ONE_WAY,
  why: 'a listening end serves the clients of every operation',
  mend: 'no --listen',
}
const ONE_WAY_CLIENTS_ONLY: IdleRule = { ...CLIENTS_ONLY, while: ONE_WAY }
const BOTH_COUNT: IdleRule = {
  while: { perftest: true, bidirectional: true },
  why: 'both ends count messages',
  mend: '--iters',
}

/** What differs between the two tests. */
const TESTS = {
  bw: {
    about: 'bandwidth: many messages in flight',
    operation: 'operation',
    op: 'write',
    sizeBytes: 65_536,
    more: [
      withRules(QPS, { idle: [CLIENTS_ONLY] }),
      withRules(DEPTH, { idle: [CLIENTS_ONLY] }),
      flag(
        'bidirectional',
        'the other host sends too, as fast as it can; with --perftest both ends need it (-b), and the same --iters',
      ),
    ],
  },
  lat: {
    about: 'latency: one message and its answer',
    operation: 'operation; a write carries an immediate, so that the other end notices it',
    op: 'send',
    sizeBytes: 64,
    more: [],
  },
} as const

function optionsOf(test: Test) {
  const { operation, op, sizeBytes, more } = TESTS[test]
  return [
    {
      ...OP,
      choices: OPS,
      doc: `${operation}; atomic with --perftest alone`,
      default: op,
      idle: test === 'bw' ? [LISTENS_FOR_ALL] : [],
    },
    withRules(SIZE, {
      command: { ...SIZE.command, usual: `${sizeBytes}; with --perftest that of its program` },
    }),
    flag('all', 'all sizes from 2 bytes to 8 MiB, by powers of two', { idle: [DAEMONS_ONLY] }),
    withRules(DURATION, { idle: [...DURATION.idle, CLIENTS_ONLY, ...(test === 'bw' ? [BOTH_COUNT] : [])] }),
    withRules(WARMUP, { idle: [...WARMUP.idle, DAEMONS_ONLY] }),
    withRules(PATH_MTU, { idle: [CLIENTS_ONLY] }),
    ...more,
    withRules(ITERATIONS, { idle: [test === 'bw' ? ONE_WAY_CLIENTS_ONLY : CLIENTS_ONLY] }),
    ccOption('congestion control of what this end sends', { usual: "the daemon's" }),
    {
      ...flag('busyPoll', 'both daemons poll for packets without sleeping: a whole core each', {
        idle: [DAEMONS_ONLY],
      }),
      command: { flag: '--busy-poll' },
    },
    PEER_PORT,
    ...PERFTEST_OPTIONS,
    sharesReceives(test),
    flag('histogram', 'print the distribution of the times', {
      idle: [{ while: { json: true }, why: '--json prints it anyway', mend: 'no --json' }, HISTOGRAM_IDLE],
    }),
    flag('json', 'print the outcome as JSON'),
  ]
}

/** What `valuesOf` finds: the table is put together, so the types of its rows are lost. */
interface PerfValues {
  op: string
  sizeBytes?: number
  all?: boolean
  iterations?: number
  durationNs?: number
  warmupNs?: number
  pathMtu?: number
  qps?: number
  depth?: number
  bidirectional?: boolean
  cc?: string
  busyPoll?: boolean
  port?: number
}

/** A listening end has no times: its clients measure. */
const HISTOGRAM_IDLE: IdleRule = { ...CLIENTS_ONLY, why: 'the other end measures' }

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
    .addCommand(testCommand('bw'))
    .addCommand(testCommand('lat'))
}

function testCommand(test: Test): Command {
  const command = new Command(test)
    .usage('[options] HOST')
    .description(TESTS[test].about)
    .argument(
      '[host]',
      'a name or an address, with a UDP port as HOST:PORT or [IPv6]:PORT; none with --listen',
    )
  addValueOptions(command, optionsOf(test))
  withSocketOption(command)
  addCongestionFlags(command)
  return command.action((host: string | undefined, flags: PerfFlags) => {
    if (flags.perftest && command.getOptionValueSource('socket') === 'cli')
      throw bad('--socket has no effect with --perftest: no daemon takes part')
    return runPerf(test, host, flags)
  })
}

async function runPerf(test: Test, host: string | undefined, flags: PerfFlags): Promise<void> {
  if (flags.perftest) {
    const { telemetry = [], paths = [], ccOption } = flags
    if (telemetry.length + paths.length > 0)
      throw bad("--telemetry and --paths have no effect with --perftest: perftest's hosts do neither")
    checkCcOption(flags)
    await runPerftest(test, host, valuesOf(optionsOf(test), flags) as PerftestValues, ccOption)
    return
  }
  if (host === undefined) throw bad('name the host to measure to')
  const requests = requestsOf(test, host, flags)
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

/** What is to be measured, one request a size. Throws WEIR_BAD_ARGUMENT. */
export function requestsOf(test: Test, host: string, flags: PerfFlags): PerfRequest[] {
  const values = valuesOf(optionsOf(test), flags) as PerfValues
  const { all = false, iterations = 0, warmupNs = WARMUP_NS, pathMtu = 0 } = values
  if (values.op === 'atomic') throw bad('--op atomic is for --perftest: daemons measure write, send and read')
  const { durationNs = all ? DURATION_OF_ALL_NS : DURATION_NS } = values
  const shared = {
    ...parseHost(host, values.port),
    test,
    op: values.op,
    qps: values.qps ?? 1,
    depth: values.depth ?? 1,
    iterations,
    durationNs: iterations > 0 ? 0 : durationNs,
    warmupNs: iterations > 0 ? 0 : warmupNs,
    bidirectional: values.bidirectional ?? false,
    busyPoll: values.busyPoll ?? false,
    pathMtu,
    ...congestionOf(values.cc, flags),
  }
  const sizes = all ? ALL_SIZES : [values.sizeBytes ?? TESTS[test].sizeBytes]
  return sizes.map(size => ({ ...shared, size }))
}

/** What the daemon is asked for, with options checked here, where the user sees why. Throws WEIR_BAD_ARGUMENT. */
function congestionOf(
  cc = '',
  { ccOption = [], telemetry = [], paths = [] }: PerfFlags,
): Pick<PerfRequest, 'congestionControl' | 'options' | 'telemetry' | 'paths'> {
  checkCcOption({ cc, ccOption })
  const options = Object.entries(cc === '' ? {} : parseCcOptions(cc, ccOption))
  parseTelemetrySettings(telemetry)
  parsePathSettings(paths)
  const numbers = Object.fromEntries(options.map(([name, value]) => [name, Number(value)]))
  return { congestionControl: cc, options: numbers, telemetry, paths }
}

function checkCcOption({ cc = '', ccOption = [] }: Pick<PerfFlags, 'cc' | 'ccOption'>): void {
  if (cc === '' && ccOption.length > 0) throw bad('--cc-option is of a congestion control: name it by --cc')
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}
