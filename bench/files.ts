/**
 * Measures `weir send` between two daemons, `weir perf bw` between the same daemons, and a one-way node:dgram
 * blast of equal datagrams on loopback: goodput, CPU time, memory. They alternate in one run. A round in
 * which other tenants used over 5 % of the CPU is repeated, a bounded number of times.
 */
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Progress } from '../lib/client/daemon-client.js'
import { WeirError } from '../lib/errors.js'
import { median } from '../lib/scenario/result/fairness.js'
import { formatBytes, formatRate, parseBytes } from '../lib/units/units.js'
import { blast } from './dgram-blast.js'
import { stealSince, stealTicks } from './steal.js'
import { Ballast } from './support/ballast.js'
import { makeTwoHosts, onLoopback, type TwoHosts } from './support/two-hosts.js'
import { WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const PAYLOAD_BYTES = 4096
const BLAST_SECONDS = 3
const PERF_SECONDS = 3
const PERF_MESSAGE_BYTES = 1_000_000
const PIECE_BYTES = 64 << 20
const STEAL_MAX = 0.05
const REPEATS_MAX = 3
const WARM_UPS = 2

interface Pair {
  sendBps: number
  /** On loopback. */
  blastBps: number
  /** Ratio to the blast. */
  ratio: number
  perfBps: number
  ratioToPerf: number
  stealShare: number
  senderCpuSecondsPerGB: number
  receiverCpuSecondsPerGB: number
}

interface FilesResult {
  place: string
  bytes: number
  pairs: Pair[]
  /** Medians over the pairs. */
  sendBps: number
  blastBps: number
  ratio: number
  perfBps: number
  ratioToPerf: number
  /** Largest resident memory of each daemon in the whole run. */
  senderPeakRssBytes: number
  receiverPeakRssBytes: number
  retransmittedBytes: number
}

/**
 * Arguments: `--size 2GB`, `--pairs 3`. `--veth`: over a veth pair between two namespaces, as root, instead
 * of loopback.
 */
export async function run(args: string[]): Promise<FilesResult> {
  const { values } = parseArgs({
    args,
    options: {
      size: { type: 'string', default: '2GB' },
      pairs: { type: 'string', default: '3' },
      veth: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const bytes = parseBytes(values.size)
  const pairs = wholeNumber('--pairs', values.pairs)
  const hosts = values.veth ? makeTwoHosts() : onLoopback('on loopback')
  // In memory where possible, because the disk is not measured.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'weir-bench-'))
  const daemons: WeirDaemon[] = []
  try {
    daemons.push(
      await WeirDaemon.start(folder, 'sender', hosts.a),
      await WeirDaemon.start(folder, 'receiver', hosts.b),
    )
    const result = await measure(folder, hosts, daemons as [WeirDaemon, WeirDaemon], bytes, pairs)
    if (!values.json) process.stdout.write(printed(result))
    return result
  } finally {
    await Promise.all(daemons.map(daemon => daemon.stop()))
    rmSync(folder, { recursive: true, force: true })
    hosts.close()
  }
}

async function measure(
  folder: string,
  { note, b: { address } }: TwoHosts,
  [sender, receiver]: readonly [WeirDaemon, WeirDaemon],
  bytes: number,
  wanted: number,
): Promise<FilesResult> {
  const file = join(folder, 'file')
  checkRoom(folder, bytes)
  writeFile(file, bytes)
  const received = join(folder, 'receiver-inbox', 'file')
  // Not counted: V8 compiles the daemons' code, and optimises it later.
  for (let i = 0; i < WARM_UPS; i++) await sender.client.send(file, address, { overwrite: true })
  const pairs: Pair[] = []
  let retransmittedBytes = 0
  for (let left = REPEATS_MAX; pairs.length < wanted; ) {
    const ballast = new Ballast(received, join(folder, 'ballast'))
    const steal = stealTicks()
    const cpu = [sender.cpuSeconds(), receiver.cpuSeconds()] as const
    const onProgress = (progress: Progress) => ballast.shrinkTo(bytes - Number(progress.bytes))
    const sent = await sender.client.send(file, address, { overwrite: true, onProgress })
    ballast.close()
    const perGB = (seconds: number) => (seconds * 1e9) / bytes
    const used = [perGB(sender.cpuSeconds() - cpu[0]), perGB(receiver.cpuSeconds() - cpu[1])] as const
    const { goodputBps: perfBps } = await sender.client.perf({
      host: address,
      test: 'bw',
      op: 'write',
      size: PERF_MESSAGE_BYTES,
      qps: 1,
      depth: 128,
      durationNs: PERF_SECONDS * 1e9,
      warmupNs: 2e8,
    })
    const bare = await blast(BLAST_SECONDS, PAYLOAD_BYTES)
    const stealShare = stealSince(steal) ?? 0
    if (stealShare > STEAL_MAX && left-- > 0) {
      process.stderr.write(`${(100 * stealShare).toFixed(1)} % of the CPU was taken by others: again\n`)
      continue
    }
    retransmittedBytes += Number(sent.retransmittedBytes)
    const sendBps = Number(sent.goodputBps)
    pairs.push({
      sendBps,
      blastBps: bare.goodputBps,
      ratio: sendBps / bare.goodputBps,
      perfBps,
      ratioToPerf: sendBps / perfBps,
      stealShare,
      senderCpuSecondsPerGB: used[0],
      receiverCpuSecondsPerGB: used[1],
    })
  }
  return {
    place: note,
    bytes,
    pairs,
    sendBps: median(pairs.map(pair => pair.sendBps)),
    blastBps: median(pairs.map(pair => pair.blastBps)),
    ratio: median(pairs.map(pair => pair.ratio)),
    perfBps: median(pairs.map(pair => pair.perfBps)),
    ratioToPerf: median(pairs.map(pair => pair.ratioToPerf)),
    senderPeakRssBytes: sender.peakRssBytes(),
    receiverPeakRssBytes: receiver.peakRssBytes(),
    retransmittedBytes,
  }
}

/** Writes a file of `bytes` in pieces, because a buffer should not hold 4 GB. */
function writeFile(path: string, bytes: number): void {
  const piece = Buffer.alloc(Math.min(bytes, PIECE_BYTES), 'weir')
  const file = openSync(path, 'w')
  try {
    for (let left = bytes; left > 0; left -= piece.length)
      writeSync(file, piece, 0, Math.min(left, piece.length))
  } finally {
    closeSync(file)
  }
}

/** Throws WEIR_NO_SPACE when the file and its copy would not fit. */
function checkRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize > 3 * bytes) return
  const text = `files: ${folder} has ${formatBytes(bavail * bsize)} left; a file of ${formatBytes(bytes)}, its copy and the one before need three times that: --size less`
  throw new WeirError('WEIR_NO_SPACE', text)
}

function printed(result: FilesResult): string {
  const rows = result.pairs.map(
    ({
      sendBps,
      blastBps,
      ratio,
      perfBps,
      ratioToPerf,
      stealShare,
      senderCpuSecondsPerGB,
      receiverCpuSecondsPerGB,
    }) =>
      `send ${formatRate(sendBps).padEnd(10)}  blast ${formatRate(blastBps).padEnd(10)}  ratio ${ratio.toFixed(2)}  ` +
      `perf bw ${formatRate(Math.round(perfBps)).padEnd(10)}  ratio ${ratioToPerf.toFixed(2)}  ` +
      `CPU ${senderCpuSecondsPerGB.toFixed(1)} + ${receiverCpuSecondsPerGB.toFixed(1)} s/GB  steal ${(100 * stealShare).toFixed(1)} %`,
  )
  const memory = `${formatBytes(result.senderPeakRssBytes)} sender, ${formatBytes(result.receiverPeakRssBytes)} receiver`
  return (
    `${rows.join('\n')}\nmedian of ${result.pairs.length}: ${formatBytes(result.bytes)} ${result.place} at ${formatRate(result.sendBps)}, ` +
    `${result.ratioToPerf.toFixed(2)} of perf bw, ${result.ratio.toFixed(2)} of the bare blast; peak memory ${memory}; ${formatBytes(result.retransmittedBytes)} retransmitted\n`
  )
}
