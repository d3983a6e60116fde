/** `weir perf --perftest`: the other end is a program of perftest, so this command is a host of its own and needs no daemon. */
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { WeirError } from '../../lib/errors.js'
import { type ClientResult, runClient } from '../../lib/interop/perftest/perftest-client.js'
import { PerftestServer } from '../../lib/interop/perftest/perftest-server.js'
import type { Left } from '../../lib/interop/perftest/session.js'
import {
  ATOMIC_BYTES,
  hasService,
  PERFTEST_PORT,
  type PerftestOp,
  type PerftestService,
  SERVICES,
  TESTS,
} from '../../lib/interop/perftest/tests.js'
import type { CommandOption, IdleRule } from '../../lib/options/option.js'
import { columnsMost } from '../../lib/text-width.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { ADDRESS, OWN_IO, openOwnHost } from './own-host.js'
import { perfTable } from './perf-display.js'
import { latencyOf, type PerfReport, type Test } from './perf-report.js'

const PERFTEST_ONLY: IdleRule = {
  while: { perftest: { given: false } },
  why: 'the daemon on this host measures',
  mend: '--perftest',
}
/** Rules of options that have no effect with `--perftest`, or with `--listen`. */
export const DAEMONS_ONLY: IdleRule = {
  while: { perftest: true },
  why: "perftest's programs do not know it",
  mend: 'no --perftest',
}
export const CLIENTS_ONLY: IdleRule = {
  while: { listen: true },
  why: 'the other end chooses it',
  mend: 'no --listen',
}

export const PERFTEST_OPTIONS = [
  {
    name: 'perftest',
    kind: 'flag',
    doc: "the other end is perftest's program of this test and operation (ib_write_bw, ib_send_lat, …), not a daemon",
    command: { flag: '--perftest' },
  },
  {
    name: 'rdmaCm',
    kind: 'flag',
    doc: 'perftest runs with -R there: the connection manager makes the queue pairs',
    idle: [PERFTEST_ONLY, { ...CLIENTS_ONLY, why: 'a listening end takes either' }],
    command: { flag: '--rdma-cm' },
  },
  {
    name: 'connection',
    kind: 'choice',
    choices: SERVICES,
    default: 'RC',
    doc: 'service of the queue pairs (-c): reliable or unreliable connections. Both ends need the same; UC has write and send',
    idle: [
      PERFTEST_ONLY,
      {
        while: { rdmaCm: true },
        why: 'the connection manager makes reliable connections',
        mend: 'no --rdma-cm',
      },
    ],
    command: { flag: '--connection <service>' },
  },
  {
    name: 'listen',
    kind: 'flag',
    doc: "be the server for perftest's clients until Ctrl-C",
    idle: [PERFTEST_ONLY],
    command: { flag: '--listen' },
  },
  { ...ADDRESS, idle: [PERFTEST_ONLY] },
  { ...OWN_IO, idle: [PERFTEST_ONLY] },
  {
    name: 'perftestPort',
    kind: 'count',
    min: 1,
    max: 65_535,
    default: PERFTEST_PORT,
    doc: "perftest's port, of TCP and of the connection manager (-p)",
    idle: [PERFTEST_ONLY],
    command: { flag: '--perftest-port <port>' },
  },
] as const satisfies readonly CommandOption[]

const NOTHING_TAKES: Omit<IdleRule, 'while'> = {
  why: 'no other operation takes receives',
  mend: '--op send',
}
/** By test: a listening end of bw serves the clients of every operation. */
const SHARES_IDLE: Readonly<Record<Test, readonly IdleRule[]>> = {
  bw: [
    { ...NOTHING_TAKES, while: { op: { not: 'send' }, listen: { given: false } } },
    { ...NOTHING_TAKES, while: { op: { not: 'send' }, bidirectional: true } },
  ],
  lat: [{ ...NOTHING_TAKES, while: { op: { not: 'send' } } }],
}

export function sharesReceives(test: Test): CommandOption {
  return {
    name: 'sharesReceives',
    kind: 'flag',
    doc: "this end's queue pairs take their receives from one queue; at a listening end clients with -R have their own",
    idle: [PERFTEST_ONLY, ...SHARES_IDLE[test]],
    command: { flag: '--use-srq' },
  }
}

export interface PerftestValues {
  op: string
  sizeBytes?: number
  iterations?: number
  durationNs?: number
  pathMtu?: number
  qps?: number
  depth?: number
  bidirectional?: boolean
  connection?: string
  cc?: string
  port?: number
  rdmaCm?: boolean
  sharesReceives?: boolean
  listen?: boolean
  address?: string
  io?: string
  perftestPort?: number
  histogram?: boolean
  json?: boolean
}

/** `-a` of perftest reaches 8 MiB. */
const LISTENING_BYTES = 8 << 20
const QUEUE_PAIRS_MAX = 16
/** Places of a queue, a power of two: what perftest has in flight. */
const DEPTH_MAX = 32_768
const DEPTH_LEAST = 128

/** Measures as a client of perftest, or serves clients until it is ended. */
export async function runPerftest(
  test: Test,
  towards: string | undefined,
  values: PerftestValues,
  ccOption: readonly string[] = [],
): Promise<void> {
  const { listen, cc, address, io = OWN_IO.default, port } = values
  checkService(values)
  if ((towards === undefined) === !listen)
    throw bad(
      listen ? `--listen names no host: leave out ${towards}` : 'name the host of the server, or --listen',
    )
  if (test === 'bw' && (values.qps ?? 1) > QUEUE_PAIRS_MAX)
    throw bad(`--qps: with --perftest at most ${QUEUE_PAIRS_MAX}`)
  const depth = Math.min(DEPTH_MAX, 2 ** Math.ceil(Math.log2(Math.max(DEPTH_LEAST, values.depth ?? 1))))
  const ended = new AbortController()
  const removeHandlers = cancelOnSignal(ended)
  const { host, remote } = await openOwnHost({
    towards,
    address,
    io,
    queueDepth: depth,
    ...(port !== undefined && { port }),
    ...(cc !== undefined && { cc: { name: cc, options: parseCcOptions(cc, [...ccOption]) } }),
  })
  try {
    if (towards === undefined) await serve(host, test, values, ended.signal)
    else show(test, values, await measure(host, test, { towards, remote }, values, ended.signal))
  } finally {
    await host.close()
    removeHandlers()
  }
}

type OwnHost = Awaited<ReturnType<typeof openOwnHost>>['host']

function checkService({ op, connection = 'RC' }: PerftestValues): void {
  if (!hasService(op as PerftestOp, connection as PerftestService))
    throw bad(`--op ${op}: unreliable connections (--connection UC) have write and send`)
}

function sizeOf(test: Test, { op, sizeBytes }: PerftestValues): number {
  const { size } = TESTS[test][op as PerftestOp]
  if (op === 'atomic' && sizeBytes !== undefined && sizeBytes !== ATOMIC_BYTES)
    throw bad(`--size: an atomic has ${ATOMIC_BYTES} bytes`)
  return sizeBytes ?? size
}

async function measure(
  host: OwnHost,
  test: Test,
  { towards, remote }: { towards: string; remote: string },
  values: PerftestValues,
  signal: AbortSignal,
): Promise<PerfReport> {
  const {
    op,
    qps = 1,
    depth = 1,
    durationNs = 0,
    rdmaCm = false,
    pathMtu,
    perftestPort = PERFTEST_PORT,
    connection = 'RC',
    bidirectional = false,
    sharesReceives = false,
  } = values
  const size = sizeOf(test, values)
  const usual = durationNs > 0 ? 0 : TESTS[test][op as PerftestOp].iterations
  const { iterations = usual } = values
  const result = await runClient(host, remote, {
    test,
    op: op as PerftestOp,
    port: perftestPort,
    byManager: rdmaCm,
    service: connection as PerftestService,
    bidirectional,
    sharesReceives,
    size,
    iterations,
    durationNs: iterations > 0 ? 0 : durationNs,
    qps,
    depth,
    signal,
    ...(pathMtu !== undefined && { pathMtu }),
  })
  return reportOf(test, { op, host: towards, size, qps, depth }, result, host.about)
}

function reportOf(
  test: Test,
  about: Pick<PerfReport, 'op' | 'host' | 'size' | 'qps' | 'depth'>,
  { messages, seconds, peakBps, latency, pathMtu, stats, remote }: ClientResult,
  { io }: { io: string },
): PerfReport {
  const bytes = messages * about.size
  return {
    test,
    ...about,
    bidirectional: remote !== null,
    seconds,
    messages,
    bytes,
    goodputBps: (bytes * 8) / seconds + (remote === null ? 0 : bpsOf(remote.average)),
    peakBps: peakBps + (remote === null ? 0 : bpsOf(remote.peak)),
    messagesPerSecond: messages / seconds,
    ...latencyOf(latency),
    retransmittedBytes: stats?.retransmittedBytes ?? 0,
    spuriousRetransmissions: stats?.spuriousRetransmissions ?? 0,
    cpuSecondsPerGB: null,
    remote:
      remote === null
        ? null
        : {
            messages: remote.iterations,
            bytes: remote.iterations * remote.size,
            goodputBps: bpsOf(remote.average),
          },
    pathMtu,
    mtu: pathMtu,
    baseRttUs: stats === null ? null : Math.round(stats.baseRttNs) / 1000,
    controller: stats?.controller ?? 'none',
    controllerReason: stats?.controllerReason ?? 'nothing is acknowledged on an unreliable connection',
    io,
    sealedWith: '',
    payload: 'clear',
  }
}

/** Bits per second of what perftest reports in MiB/s. */
function bpsOf(mibPerSecond: number): number {
  return mibPerSecond * 2 ** 20 * 8
}

function show(test: Test, { json, histogram }: PerftestValues, report: PerfReport): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    return
  }
  const table = perfTable(test, process.stdout, columnsMost(process.stdout))
  table.row(report)
  if (histogram) table.histogram(report)
  table.end([report])
}

async function serve(host: OwnHost, test: Test, values: PerftestValues, signal: AbortSignal): Promise<void> {
  const { op, json, perftestPort: port = PERFTEST_PORT, bidirectional, connection = 'RC' } = values
  const { sharesReceives = false } = values
  if (test === 'lat' && (op === 'read' || op === 'atomic'))
    throw bad(`--op ${op} has no effect on a listening end: without --op it serves send, read and atomic`)
  const exact = sizeOf(test, values)
  const isExact = (test === 'lat' && op === 'write') || bidirectional
  if (!isExact && values.sizeBytes !== undefined && values.sizeBytes <= LISTENING_BYTES)
    throw bad(
      `--size has no effect on a listening end up to ${LISTENING_BYTES >> 20} MiB: its clients choose it, except those of ib_write_lat and of -b`,
    )
  const size = isExact ? exact : Math.max(exact, LISTENING_BYTES)
  const { iterations = TESTS[test][op as PerftestOp].iterations } = values
  const onLeft = (left: Left) => process.stdout.write(json ? `${leftJson(left)}\n` : leftLine(left))
  const server = await PerftestServer.listen(
    host,
    {
      test,
      op: op as PerftestOp,
      size,
      port,
      service: connection as PerftestService,
      sharesReceives,
      ...(bidirectional && { sends: { iterations, size } }),
    },
    onLeft,
  )
  if (!json) {
    const { address, io } = host.about
    process.stdout.write(` listening for ${programOf(test, values)} at ${address}, port ${port}; io ${io}\n`)
  }
  await new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.close()
}

/** Whose clients it serves. */
function programOf(test: Test, { op, bidirectional, connection = 'RC' }: PerftestValues): string {
  const service = connection === 'RC' ? '' : ` -c ${connection}`
  if (bidirectional) return `ib_${op}_bw -b${service}`
  if (test === 'bw') return `ib_*_bw${service}`
  return op === 'write' ? `ib_write_lat${service}` : `ib_send_lat, ib_read_lat, ib_atomic_lat${service}`
}

function leftJson({ remote, version, report, error }: Left): string {
  return JSON.stringify({ remote, version, report, error: error?.message ?? null })
}

function leftLine({ remote, report, error }: Left): string {
  const measured =
    report === null
      ? ''
      : `: ${report.iterations} of ${report.size} bytes, ${report.average.toFixed(2)} MiB/s, ${report.messageRate.toFixed(6)} Mpps`
  const text =
    error === null ? `${measured || ': done'}` : `${measured}: ${withoutName(error.message, remote)}`
  return ` ${remote}${text}\n`
}

/** The line begins with the client's name, as most errors do. */
function withoutName(text: string, name: string): string {
  return text.startsWith(`${name} `) ? text.slice(name.length + 1) : text
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}
