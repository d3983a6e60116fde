/**
 * Bandwidth and latency between two Weir daemons, beside alternatives, in alternating rounds of one run. As
 * root over a veth pair between two namespaces, otherwise on loopback. Alternatives that are not installed
 * are omitted, and named.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { DaemonClient, PerfReply, PerfRequest } from '../lib/client/daemon-client.js'
import { WeirError } from '../lib/errors.js'
import { formatDuration, formatRate } from '../lib/units/units.js'
import { bandwidthPeers, type Peer } from './peers/bandwidth.js'
import { latencyPeers } from './peers/latency.js'
import { type Figure, inRounds, type Measured, type Rounds } from './support/rounds.js'
import { isInstalled } from './support/run-program.js'
import { makeTwoHosts, type TwoHosts } from './support/two-hosts.js'
import { type Place, WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const BANDWIDTH_BYTES = 1_000_000
const LATENCY_BYTES = 64
const WARMUP_NS = 5e8

interface TransportResult {
  benchmark: 'transport'
  /** veth or loopback, and what that means. */
  place: string
  note: string
  cores: number
  io: string
  pathMtu: number
  seconds: number
  /** bit/s of payload. Ratios to iperf3's TCP. */
  bandwidth: Rounds & { baseline: string; messageBytes: number }
  /** Median of half the round trip, ns. Ratios to sockperf, or without it to UDP by system calls. */
  latency: Rounds & { baseline: string; messageBytes: number }
  skipped: { name: string; why: string }[]
}

/**
 * Arguments: `--rounds 5`, `--seconds 3` of each candidate in each, `--only bandwidth|latency`, `--daemon
 * "OPTIONS"`. `--pin`: runs host a on core 0 and host b on core 1, because two ends that spin on one core
 * wait for each other's time slices.
 */
export async function run(args: string[]): Promise<TransportResult> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      only: { type: 'string' },
      daemon: { type: 'string', default: '' },
      pin: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const rounds = wholeNumber('--rounds', values.rounds)
  const seconds = wholeNumber('--seconds', values.seconds)
  const hosts = values.pin ? pinned(makeTwoHosts()) : makeTwoHosts()
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const daemons: WeirDaemon[] = []
  const say = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`)
  }
  try {
    const more = values.daemon.split(' ').filter(word => word !== '')
    for (const name of ['a', 'b'] as const) {
      daemons.push(await WeirDaemon.start(folder, name, hosts[name], more))
    }
    const { client } = daemons[0]!
    const peers = [bandwidthPeers(hosts, seconds), latencyPeers(hosts, LATENCY_BYTES, seconds)] as const
    const present = (list: readonly Peer[]) => list.filter(({ missing }) => missing === null)
    const weir = new WeirPerf(client, hosts.b.address, seconds)
    const none: Rounds = { figures: [], stealShare: 0, repeated: 0 }
    const bandwidth =
      values.only === 'latency'
        ? none
        : await inRounds([...weir.bandwidth(), ...present(peers[0])], rounds, 'iperf3 TCP', say)
    const [latencyBaseline] = present(peers[1]).map(({ name }) => name)
    const latency =
      values.only === 'bandwidth'
        ? none
        : await inRounds([...weir.latency(), ...present(peers[1])], rounds, latencyBaseline!, say)
    say('')
    const result: TransportResult = {
      benchmark: 'transport',
      place: hosts.kind,
      note: hosts.note,
      cores: cpus().length,
      io: weir.last!.io,
      pathMtu: weir.last!.pathMtu,
      seconds,
      bandwidth: { ...bandwidth, baseline: 'iperf3 TCP', messageBytes: BANDWIDTH_BYTES },
      latency: { ...latency, baseline: latencyBaseline!, messageBytes: LATENCY_BYTES },
      skipped: peers
        .flat()
        .flatMap(({ name, missing }) => (missing === null ? [] : [{ name, why: missing }])),
    }
    if (!values.json) process.stdout.write(printed(result))
    return result
  } finally {
    await Promise.all(daemons.map(daemon => daemon.stop()))
    rmSync(folder, { recursive: true, force: true })
    hosts.close()
  }
}

/** Throws WEIR_UNSUPPORTED without two cores or without taskset. */
function pinned(hosts: TwoHosts): TwoHosts {
  if (cpus().length < 2 || !isInstalled('taskset')) {
    hosts.close()
    throw new WeirError('WEIR_UNSUPPORTED', 'transport: --pin needs two cores, and taskset (util-linux)')
  }
  const on = (core: number, { address, within }: Place) => ({
    address,
    within: [...within, 'taskset', '-c', String(core)],
  })
  const note = `${hosts.note}; each host on a core of its own`
  return { ...hosts, note, a: on(0, hosts.a), b: on(1, hosts.b) }
}

/** `weir perf` by the daemon of host a. */
class WeirPerf {
  last: PerfReply | null = null
  readonly #client: DaemonClient
  readonly #usual: Partial<PerfRequest>

  constructor(client: DaemonClient, host: string, seconds: number) {
    this.#client = client
    this.#usual = { host, qps: 1, durationNs: seconds * 1e9, warmupNs: WARMUP_NS }
  }

  bandwidth() {
    const usual = { test: 'bw', size: BANDWIDTH_BYTES, depth: 128 }
    return [
      this.#candidate('weir WRITE', { ...usual, op: 'write' }, bandwidthOf),
      this.#candidate('weir SEND', { ...usual, op: 'send' }, bandwidthOf),
      this.#candidate('weir READ', { ...usual, op: 'read' }, bandwidthOf),
      this.#candidate('weir WRITE, 64 QPs', { ...usual, op: 'write', qps: 64 }, bandwidthOf),
    ]
  }

  latency() {
    const usual = { test: 'lat', size: LATENCY_BYTES, depth: 1 }
    return [
      this.#candidate('weir SEND, busy polling', { ...usual, op: 'send', busyPoll: true }, latencyOf),
      this.#candidate('weir SEND', { ...usual, op: 'send' }, latencyOf),
      this.#candidate('weir WRITE', { ...usual, op: 'write' }, latencyOf),
      this.#candidate('weir READ (whole round trip)', { ...usual, op: 'read' }, latencyOf),
    ]
  }

  #candidate(name: string, request: Partial<PerfRequest>, measured: (reply: PerfReply) => Measured) {
    const measure = async () => {
      this.last = await this.#client.perf({ ...this.#usual, ...request })
      return measured(this.last)
    }
    return { name, measure }
  }
}

function bandwidthOf({ goodputBps, bytes, cpuSeconds, remoteCpuSeconds }: PerfReply): Measured {
  const gigabytes = bytes / 1e9
  const cpu = { client: cpuSeconds / gigabytes, server: remoteCpuSeconds / gigabytes }
  return { value: goodputBps, cpu }
}

function latencyOf({ latency }: PerfReply): Measured {
  return { value: latency!.p50 }
}

function printed(result: TransportResult): string {
  const { note, io, pathMtu, cores, bandwidth, latency, skipped } = result
  const lines = [`${note}; io ${io}, path MTU ${pathMtu}, ${cores} cores`]
  for (const [what, { figures, baseline, messageBytes, stealShare }, format] of [
    ['bandwidth', bandwidth, (bps: number) => formatRate(Math.round(bps))],
    ['latency', latency, (ns: number) => formatDuration(Math.round(ns))],
  ] as const) {
    if (figures.length === 0) continue
    const head = `${what}, messages of ${messageBytes} bytes: median (least to most), ratio to ${baseline}`
    lines.push('', `${head}; steal at most ${(100 * stealShare).toFixed(1)} %`)
    lines.push(...figures.map(figure => row(figure, format)))
  }
  for (const { name, why } of skipped) lines.push('', `left out: ${name}: ${why}`)
  return `${lines.join('\n')}\n`
}

function row({ name, median, min, max, ratio, cpu }: Figure, format: (value: number) => string): string {
  const spread = `(${format(min)} to ${format(max)})`
  const cost = cpu === null ? '' : `  CPU ${cpu.client.toFixed(2)} + ${cpu.server.toFixed(2)} s/GB`
  const share = Number.isFinite(ratio) ? ratio.toFixed(2) : '-'
  return `  ${name.padEnd(30)} ${format(median).padStart(10)}  ${spread.padEnd(28)} ${share.padStart(6)}${cost}`
}
