import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { PING_BYTES_MAX } from '../../lib/interop/rping/memory-info.js'
import { PingClient, RPING_PORT } from '../../lib/interop/rping/ping-client.js'
import { type PingedBy, PingServer } from '../../lib/interop/rping/ping-server.js'
import type { CommandOption, IdleRule } from '../../lib/options/option.js'
import { LatencyRecorder } from '../../lib/perf/latency.js'
import { bands } from '../../lib/scenario/result/table.js'
import { columnsMost } from '../../lib/text-width.js'
import { SECOND } from '../../lib/time/nanos.js'
import { formatDuration } from '../../lib/units/units.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { untilAborted } from '../until-aborted.js'
import { commandOf } from './names.js'
import { ADDRESS, OWN_IO, OWN_UDP_PORT, openOwnHost } from './own-host.js'
import { addValueOptions, valuesOf } from './value-options.js'

/** rping's own. Its server takes longer ones with `-S` alone. */
const SIZE_USUAL = 64

const CLIENTS: readonly IdleRule[] = [
  { while: { listen: true }, why: 'the other end chooses it', mend: 'no --listen' },
]

const OPTIONS = [
  {
    name: 'size',
    kind: 'bytes',
    min: 1,
    max: PING_BYTES_MAX,
    default: SIZE_USUAL,
    doc: 'bytes of a ping; a server of rping needs -S no less',
    idle: CLIENTS,
    command: { flag: '--size <bytes>' },
  },
  {
    name: 'count',
    kind: 'count',
    min: 1,
    max: 1e12,
    doc: 'end after so many pings',
    idle: CLIENTS,
    command: { flag: '-c, --count <count>', usual: 'until Ctrl-C' },
  },
  {
    name: 'interval',
    kind: 'time',
    min: 0,
    max: 3600 * SECOND,
    default: SECOND,
    doc: 'time from one ping to the next; 0: at once',
    idle: CLIENTS,
    command: { flag: '-i, --interval <time>' },
  },
  {
    name: 'verify',
    kind: 'flag',
    doc: 'compare what comes back with what was sent',
    idle: CLIENTS,
    command: { flag: '-v, --verify' },
  },
  {
    name: 'listen',
    kind: 'flag',
    doc: 'be the other end: answer rping and weir ping until Ctrl-C',
    command: { flag: '--listen' },
  },
  ADDRESS,
  OWN_IO,
  {
    name: 'cmPort',
    kind: 'count',
    min: 1,
    max: 65_535,
    default: RPING_PORT,
    doc: 'port of the connection manager at the listening end (rping -p)',
    command: { flag: '--cm-port <port>' },
  },
  OWN_UDP_PORT,
  { name: 'json', kind: 'flag', doc: 'print the outcome as JSON', command: { flag: '--json' } },
] as const satisfies readonly CommandOption[]

/** Output of `--json`. */
export interface PingReport {
  host: string
  address: string
  size: number
  pings: number
  verified: boolean
  rttUs: { min: number; mean: number; p50: number; p99: number; max: number } | null
  io: string
}

/** `weir ping` */
export function pingCommand(): Command {
  const command = commandOf('ping').argument('[host]', 'a name or an address; none with --listen')
  return addValueOptions(command, OPTIONS).action(runPing)
}

type PingValues = ReturnType<typeof valuesOf<typeof OPTIONS>>

async function runPing(host: string | undefined, flags: object): Promise<void> {
  const values = valuesOf(OPTIONS, flags)
  if ((host === undefined) === !values.listen)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      values.listen ? `--listen names no host: leave out ${host}` : 'name the host to ping, or --listen',
    )
  const ended = new AbortController()
  const removeHandlers = cancelOnSignal(ended)
  try {
    if (host === undefined) await listen(values, ended.signal)
    else await ping(host, values, ended.signal)
  } finally {
    removeHandlers()
  }
}

async function ping(towards: string, values: PingValues, signal: AbortSignal): Promise<void> {
  const { size = SIZE_USUAL, json, io, port, cmPort, address } = flatten(values)
  const { host, remote } = await openOwnHost({ towards, address, io, port })
  const times = new LatencyRecorder()
  const say = (line: string) => void (json || process.stdout.write(`${line}\n`))
  const report = (): PingReport => reportOf(towards, host.about, { size, verified: !!values.verify }, times)
  try {
    const client = await connect(
      () => PingClient.connect(host, remote, { port: cmPort, size, signal }),
      signal,
    )
    const { address: from, io: by } = host.about
    say(` PING ${remote} from ${from}: ${size} bytes; io ${by}, MTU ${client.connection.pathMtu}`)
    try {
      await pings(client, values, times, {
        signal,
        onPing: (n, ns) => say(` ping ${n}: ${formatDuration(ns)}`),
      })
      if (!signal.aborted) await client.close()
    } finally {
      if (json) process.stdout.write(`${JSON.stringify(report(), null, 2)}\n`)
      else process.stdout.write(tableOf(report(), columnsMost(process.stdout)))
    }
  } finally {
    await host.close()
  }
}

/** A signal to end before the first ping is a cancellation. */
async function connect(attempt: () => Promise<PingClient>, signal: AbortSignal): Promise<PingClient> {
  try {
    return await attempt()
  } catch (error) {
    if (!signal.aborted) throw error
    throw new WeirError('WEIR_CANCELLED', 'the ping was cancelled', { cause: signal.reason })
  }
}

async function pings(
  client: PingClient,
  { count = Number.POSITIVE_INFINITY, intervalNs = SECOND, verify = false }: PingValues,
  times: LatencyRecorder,
  { signal, onPing }: { signal: AbortSignal; onPing: (n: number, ns: number) => void },
): Promise<void> {
  for (let n = 1; n <= count && !signal.aborted; n++) {
    const due = performance.now() + intervalNs / 1e6
    // A ping that is under way when the command ends has no outcome.
    const ns = await untilAborted(client.ping(verify), signal)
    if (ns === null) return
    times.record(ns)
    onPing(n, ns)
    const left = due - performance.now()
    if (n < count && left > 0) await rest(client, left, signal)
  }
}

/** Until the time is over, or the command ends. Throws WEIR_CONNECTION_LOST when the other end is gone meanwhile. */
async function rest(client: PingClient, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const resting = sleep(ms, null, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => null)
  const loss = await Promise.race([resting, client.lost()])
  over.abort()
  if (loss !== null && !signal.aborted) throw loss
}

async function listen(values: PingValues, signal: AbortSignal): Promise<void> {
  const { json, io, port, cmPort, address } = flatten(values)
  const { host } = await openOwnHost({ address, io, port })
  const onLeft = (left: PingedBy) => process.stdout.write(json ? `${leftJson(left)}\n` : leftLine(left))
  try {
    await PingServer.listen(host, onLeft, cmPort)
    if (!json)
      process.stdout.write(
        ` listening for rping at ${host.about.address}, port ${cmPort}; io ${host.about.io}\n`,
      )
    await new Promise<void>(resolve => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  } finally {
    await host.close()
  }
}

/** What has defaults has values. */
function flatten(values: PingValues) {
  const { sizeBytes: size, json = false, io = OWN_IO.default, port, cmPort = RPING_PORT, address } = values
  return { size, json, io, cmPort, address, ...(port !== undefined && { port }) }
}

function leftJson({ remote, pings, error }: PingedBy): string {
  return JSON.stringify({ remote, pings, error: error?.message ?? null })
}

function leftLine({ remote, pings, error }: PingedBy): string {
  return ` ${remote}: ${pings} pings${error === null ? '' : `, then: ${error.message}`}\n`
}

function reportOf(
  host: string,
  { address, io }: { address: string; io: string },
  { size, verified }: { size: number; verified: boolean },
  times: LatencyRecorder,
): PingReport {
  const { count: pings, min, mean, p50, p99, max } = times.summary()
  const us = (ns: number) => Math.round(ns) / 1000
  const rttUs =
    pings === 0 ? null : { min: us(min), mean: us(mean), p50: us(p50), p99: us(p99), max: us(max) }
  return { host, address, size, pings, verified, rttUs, io }
}

const COLUMNS = ['#bytes', '#pings', 't_min[usec]', 't_avg[usec]', '99% percentile[usec]', 't_max[usec]']

/** @param columns of the terminal; a wider row is folded into bands, as `weir perf` does */
export function tableOf({ size, pings, rttUs }: PingReport, columns: number): string {
  const times =
    rttUs === null
      ? ['-', '-', '-', '-']
      : [rttUs.min, rttUs.mean, rttUs.p99, rttUs.max].map(us => us.toFixed(2))
  const cells = [String(size), String(pings), ...times]
  const widths = COLUMNS.map((name, i) => Math.max(8, name.length, cells[i]!.length))
  const line = (texts: readonly string[], band: readonly number[]) =>
    ` ${band.map(i => texts[i]!.padEnd(widths[i]!)).join('  ')}`.trimEnd()
  return bands(widths, columns - 1)
    .map(band => `${line(COLUMNS, band)}\n${line(cells, band)}\n`)
    .join('')
}
