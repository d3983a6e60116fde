/**
 * Bandwidth and latency between two Weir daemons, beside alternatives and beside another checkout, in alternating rounds of one
 * run. As root over veth pairs between two namespaces, of one MTU after the other; otherwise on loopback. Alternatives that are
 * not installed are omitted, and named.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { DaemonClient, PerfReply, PerfRequest } from '../lib/client/daemon-client.js'
import { WeirError } from '../lib/errors.js'
import { QPS } from '../lib/perf/perf-options.js'
import { formatDuration, formatRate } from '../lib/units/units.js'
import { bandwidthPeers, type Peer } from './peers/bandwidth.js'
import { latencyPeers, NODE_DGRAM, SYSTEM_CALLS } from './peers/latency.js'
import { type Checkout, checkouts, nameIn } from './support/checkouts.js'
import { oneOf } from './support/one-of.js'
import { type Candidate, type Figure, inRounds, type Measured, type Rounds } from './support/rounds.js'
import { isInstalled } from './support/run-program.js'
import { makeTwoHosts, type TwoHosts } from './support/two-hosts.js'
import { type Place, WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const BANDWIDTH_BYTES = 1_000_000
/** More queue pairs than so many send shorter messages: each completes some in the time. */
const QPS_OF_LONG_MESSAGES = 64
const SHORT_MESSAGE_BYTES = 64_000
const LATENCY_BYTES = 64
const WARMUP_NS = 5e8
/** A message takes a fraction of the code's time in a stream: V8 compiles it later. */
const LATENCY_WARMUP_NS = 2e9
/** Bounds of an Ethernet interface: IPv6 needs the first, and no veth pair takes more than the second. */
const MTU_LEAST = 1280
const MTU_MOST = 65_535

interface TransportResult {
  benchmark: 'transport'
  cores: number
  seconds: number
  networks: NetworkResult[]
  skipped: { name: string; why: string }[]
}

/** What was measured over one veth pair, or on loopback. */
interface NetworkResult {
  /** veth or loopback, and what that means. */
  place: string
  note: string
  io: string
  /** Payload bytes of a full packet of the daemons. */
  pathMtu: number
  /** bit/s of payload. Ratios to iperf3's TCP. */
  bandwidth: Rounds & { baseline: string; messageBytes: number }
  /** Median of half the round trip, ns. Ratios to UDP by system calls. On the first network alone. */
  latency: Rounds & { baseline: string; messageBytes: number }
}

/** Numbers of queue pairs. */
const USUAL_QPS = '1,64'

/** What is measured on each network. */
interface Plan {
  rounds: number
  seconds: number
  only: 'bandwidth' | 'latency' | undefined
  /** Numbers of queue pairs, of which 1 is measured with each operation. */
  qps: readonly number[]
  /** More options of `weir daemon`. */
  daemon: readonly string[]
  both: readonly Checkout[]
  pin: boolean
}

/**
 * Arguments: `--rounds 5`, `--seconds 3` of each candidate in each, `--only bandwidth|latency`, `--mtu 1500,9000` of the veth
 * pairs, `--qps 1,64` of the bandwidth, `--daemon "OPTIONS"`, `--against DIR`. `--pin`: runs host a on core 0 and host b on core 1, because two
 * ends that spin on one core wait for each other's time slices.
 */
export async function run(args: string[]): Promise<TransportResult> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      only: { type: 'string' },
      mtu: { type: 'string', default: '1500,9000' },
      qps: { type: 'string' },
      daemon: { type: 'string', default: '' },
      against: { type: 'string' },
      pin: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.only === 'latency' && values.qps !== undefined)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      '--qps has no effect with --only latency: it takes one queue pair',
    )
  const { qps = USUAL_QPS } = values
  const plan: Plan = {
    rounds: wholeNumber('--rounds', values.rounds),
    seconds: wholeNumber('--seconds', values.seconds),
    only: oneOf('--only', values.only, 'bandwidth', 'latency'),
    qps: qps.split(',').map(text => wholeNumber('--qps', text, QPS.min, QPS.max)),
    daemon: values.daemon.split(' ').filter(word => word !== ''),
    both: checkouts(values.against),
    pin: values.pin,
  }
  const mtus = values.mtu.split(',').map(text => wholeNumber('--mtu', text, MTU_LEAST, MTU_MOST))
  const networks: NetworkResult[] = []
  let skipped: TransportResult['skipped'] = []
  for (const mtu of mtus) {
    const network = await measure(plan, mtu, networks.length === 0)
    networks.push(network)
    skipped = network.skipped
    // All MTUs are the same there. Latency is measured on the first network alone.
    if (network.place === 'loopback' || plan.only === 'latency') break
  }
  const result: TransportResult = {
    benchmark: 'transport',
    cores: cpus().length,
    seconds: plan.seconds,
    networks,
    skipped,
  }
  if (!values.json) process.stdout.write(printed(result))
  return result
}

/** @param isFirst whether latency is measured too */
async function measure(
  { rounds, seconds, only, qps, daemon, both, pin }: Plan,
  mtu: number,
  isFirst: boolean,
): Promise<NetworkResult & Pick<TransportResult, 'skipped'>> {
  const hosts = pin ? pinned(makeTwoHosts(mtu)) : makeTwoHosts(mtu)
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const daemons: WeirDaemon[] = []
  const perfs: WeirPerf[] = []
  const say = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`)
  }
  try {
    for (const checkout of both) {
      const start = async (host: 'a' | 'b') => {
        const name = `${checkout.name}-${host}`
        daemons.push(await WeirDaemon.start(folder, name, hosts[host], daemon, checkout))
        return daemons.at(-1)!.client
      }
      const client = await start('a')
      await start('b')
      perfs.push(new WeirPerf(checkout, client, hosts.b.address, seconds))
    }
    const peers = [bandwidthPeers(hosts, seconds), latencyPeers(hosts, LATENCY_BYTES, seconds)] as const
    const present = (list: readonly Peer[]) => list.filter(({ missing }) => missing === null)
    const inTurn = async (what: string, own: Candidate[], others: readonly Peer[], baseline: string) =>
      (only ?? what) === what
        ? await inRounds([...own, ...present(others)], rounds, baseline, say)
        : { figures: [], stealShare: 0, repeated: 0 }
    const bandwidth = await inTurn(
      'bandwidth',
      turns(perfs, perf => perf.bandwidth(qps)),
      peers[0],
      'iperf3 TCP',
    )
    // Without them by node:dgram, which is always there.
    const latencyBaseline = [SYSTEM_CALLS, NODE_DGRAM].find(name =>
      present(peers[1]).some(peer => peer.name === name),
    )!
    const latency = isFirst
      ? await inTurn(
          'latency',
          turns(perfs, perf => perf.latency()),
          peers[1],
          latencyBaseline,
        )
      : { figures: [], stealShare: 0, repeated: 0 }
    say('')
    return {
      place: hosts.kind,
      note: hosts.note,
      io: perfs[0]!.last!.io,
      pathMtu: perfs[0]!.last!.pathMtu,
      bandwidth: { ...bandwidth, baseline: 'iperf3 TCP', messageBytes: BANDWIDTH_BYTES },
      latency: { ...latency, baseline: latencyBaseline, messageBytes: LATENCY_BYTES },
      skipped: peers
        .flat()
        .flatMap(({ name, missing }) => (missing === null ? [] : [{ name, why: missing }])),
    }
  } finally {
    await Promise.all(daemons.map(one => one.stop()))
    rmSync(folder, { recursive: true, force: true })
    hosts.close()
  }
}

/** Each candidate of this checkout, and behind it that of the other one. */
function turns(perfs: readonly WeirPerf[], candidatesOf: (perf: WeirPerf) => Candidate[]): Candidate[] {
  const [here, other] = perfs.map(candidatesOf)
  if (other === undefined) return here!
  return here!.flatMap((candidate, i) => [{ ...candidate, other: other[i]!.name }, other[i]!])
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

/** `weir perf` by one checkout's daemon of host a. */
class WeirPerf {
  last: PerfReply | null = null
  readonly #checkout: Checkout
  readonly #client: DaemonClient
  readonly #usual: Partial<PerfRequest>

  constructor(checkout: Checkout, client: DaemonClient, host: string, seconds: number) {
    this.#checkout = checkout
    this.#client = client
    this.#usual = { host, qps: 1, durationNs: seconds * 1e9, warmupNs: WARMUP_NS }
  }

  bandwidth(qps: readonly number[]): Candidate[] {
    const usual = { test: 'bw', size: BANDWIDTH_BYTES, depth: 128 }
    const one = (['write', 'send', 'read'] as const).map(op =>
      this.#candidate(`weir ${op.toUpperCase()}`, { ...usual, op }, bandwidthOf),
    )
    const many = qps
      .filter(count => count > 1)
      .map(count => {
        const isShort = count > QPS_OF_LONG_MESSAGES
        const name = `weir WRITE${isShort ? ` of ${SHORT_MESSAGE_BYTES} bytes` : ''}, ${count} QPs`
        const request = { ...usual, op: 'write', qps: count, ...(isShort && { size: SHORT_MESSAGE_BYTES }) }
        return this.#candidate(name, request, bandwidthOf)
      })
    return [...(qps.includes(1) ? one : []), ...many]
  }

  latency(): Candidate[] {
    const usual = { test: 'lat', size: LATENCY_BYTES, depth: 1, warmupNs: LATENCY_WARMUP_NS }
    return [
      this.#candidate('weir SEND, busy polling', { ...usual, op: 'send', busyPoll: true }, latencyOf),
      this.#candidate('weir SEND', { ...usual, op: 'send' }, latencyOf),
      this.#candidate('weir WRITE', { ...usual, op: 'write' }, latencyOf),
      this.#candidate('weir READ (whole round trip)', { ...usual, op: 'read' }, latencyOf),
    ]
  }

  #candidate(
    name: string,
    request: Partial<PerfRequest>,
    measured: (reply: PerfReply) => Measured,
  ): Candidate {
    const measure = async () => {
      this.last = await this.#client.perf({ ...this.#usual, ...request })
      return measured(this.last)
    }
    return { name: nameIn(this.#checkout, name), measure }
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

function printed({ cores, networks, skipped }: TransportResult): string {
  const lines: string[] = []
  for (const { note, io, pathMtu, bandwidth, latency } of networks) {
    lines.push(`${note}; io ${io}, path MTU ${pathMtu}, ${cores} cores`)
    for (const [what, { figures, baseline, messageBytes, stealShare }, format] of [
      ['bandwidth', bandwidth, (bps: number) => formatRate(Math.round(bps))],
      ['latency', latency, (ns: number) => formatDuration(Math.round(ns))],
    ] as const) {
      if (figures.length === 0) continue
      const head = `${what}, messages of ${messageBytes} bytes: median (least to most), ratio to ${baseline}`
      lines.push('', `${head}; steal at most ${(100 * stealShare).toFixed(1)} %`)
      lines.push(...figures.map(figure => row(figure, format)))
    }
    lines.push('')
  }
  for (const { name, why } of skipped) lines.push(`left out: ${name}: ${why}`)
  return `${lines.join('\n').trimEnd()}\n`
}

function row(figure: Figure, format: (value: number) => string): string {
  const { name, median, min, max, ratio, cpu, byOther } = figure
  const spread = `(${format(min)} to ${format(max)})`
  const cost = cpu === null ? '' : `  CPU ${cpu.client.toFixed(2)} + ${cpu.server.toFixed(2)} s/GB`
  const share = Number.isFinite(ratio) ? ratio.toFixed(2) : '-'
  const own = `  ${name.padEnd(32)} ${format(median).padStart(10)}  ${spread.padEnd(28)} ${share.padStart(6)}${cost}`
  if (byOther === undefined) return own
  const { cpu: both } = byOther
  const cpuRatio = both === null ? '' : `, CPU ${both.client.toFixed(2)} and ${both.server.toFixed(2)}`
  return `${own}\n    by the other checkout: ${byOther.ratio.toFixed(2)}${cpuRatio}`
}
