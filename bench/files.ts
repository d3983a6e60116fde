/**
 * `weir send` between two daemons on loopback, beside a bare one-way node:dgram blast of equal datagrams: goodput, CPU
 * time, memory. The two alternate in one run; a pair in which other tenants took over 5 % of the CPU is repeated,
 * a bounded number of times.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { connectDaemon, type DaemonClient } from '../lib/client/daemon-client.js'
import { median } from '../lib/scenario/fairness.js'
import { formatBytes, formatRate, parseBytes } from '../lib/units/units.js'
import { blast } from './dgram-blast.js'
import { stealSince, stealTicks } from './steal.js'

const WEIR = fileURLToPath(new URL('../bin/weir.js', import.meta.url))
const PAYLOAD_BYTES = 4096
const BLAST_SECONDS = 3
const STEAL_MAX = 0.05
const REPEATS_MAX = 3
/** Addresses of 127.0.0.0/8 that nothing else is likely to use. */
const SENDER = '127.77.0.1'
const RECEIVER = '127.77.0.2'

interface Pair {
  sendBps: number
  blastBps: number
  ratio: number
  stealShare: number
  senderCpuSecondsPerGB: number
  receiverCpuSecondsPerGB: number
}

export interface FilesResult {
  bytes: number
  pairs: Pair[]
  /** Medians over the pairs. */
  sendBps: number
  blastBps: number
  ratio: number
  /** Largest resident memory of each daemon over the whole run. */
  senderPeakRssBytes: number
  receiverPeakRssBytes: number
  retransmittedBytes: number
}

/** Arguments: `--size 2GB`, `--pairs 3`. */
export async function run(args: string[]): Promise<FilesResult> {
  const { values } = parseArgs({
    args,
    options: {
      size: { type: 'string', default: '2GB' },
      pairs: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
    },
  })
  // Memory, where there is some: the disk is not what is measured.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'weir-bench-'))
  const daemons: Daemon[] = []
  try {
    daemons.push(
      await Daemon.start(folder, 'sender', SENDER),
      await Daemon.start(folder, 'receiver', RECEIVER),
    )
    const result = await measure(
      folder,
      daemons as [Daemon, Daemon],
      parseBytes(values.size),
      Number(values.pairs),
    )
    if (!values.json) process.stdout.write(printed(result))
    return result
  } finally {
    await Promise.all(daemons.map(daemon => daemon.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(
  folder: string,
  [sender, receiver]: readonly [Daemon, Daemon],
  bytes: number,
  wanted: number,
): Promise<FilesResult> {
  const file = join(folder, 'file')
  writeFileSync(file, Buffer.alloc(bytes, 'weir'))
  const received = join(folder, 'receiver-inbox', 'file')
  // Not counted: V8 compiles the daemons' code, and a virtual machine may have to get memory from its host, which was
  // seen to cost more than the whole transfer. The memory of a file that is deleted is used for the next one.
  await sender.client.send(file, RECEIVER, { overwrite: true })
  const pairs: Pair[] = []
  let retransmittedBytes = 0
  for (let left = REPEATS_MAX; pairs.length < wanted; ) {
    rmSync(received)
    const steal = stealTicks()
    const cpu = [sender.cpuSeconds(), receiver.cpuSeconds()] as const
    const sent = await sender.client.send(file, RECEIVER, { overwrite: true })
    const perGB = (seconds: number) => (seconds * 1e9) / bytes
    const used = [perGB(sender.cpuSeconds() - cpu[0]), perGB(receiver.cpuSeconds() - cpu[1])] as const
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
      stealShare,
      senderCpuSecondsPerGB: used[0],
      receiverCpuSecondsPerGB: used[1],
    })
  }
  return {
    bytes,
    pairs,
    sendBps: median(pairs.map(pair => pair.sendBps)),
    blastBps: median(pairs.map(pair => pair.blastBps)),
    ratio: median(pairs.map(pair => pair.ratio)),
    senderPeakRssBytes: sender.peakRssBytes(),
    receiverPeakRssBytes: receiver.peakRssBytes(),
    retransmittedBytes,
  }
}

/** A daemon as a process of its own. */
class Daemon {
  readonly client: DaemonClient
  readonly #child: ChildProcess

  static async start(folder: string, name: string, address: string): Promise<Daemon> {
    const socket = join(folder, `${name}.sock`)
    const inbox = join(folder, `${name}-inbox`)
    const args = ['daemon', '--address', address, '--socket', socket, '--inbox', inbox, '--log-level', 'warn']
    const child = spawn(process.execPath, [WEIR, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
    for (let tries = 0; tries < 100; tries++) {
      if (existsSync(socket)) break
      await sleep(100)
    }
    return new Daemon(child, await connectDaemon(socket))
  }

  private constructor(child: ChildProcess, client: DaemonClient) {
    this.#child = child
    this.client = client
  }

  /** User and system time so far; NaN where /proc does not tell. */
  cpuSeconds(): number {
    const fields = this.#proc('stat').split(') ')[1]?.split(' ')
    return fields === undefined ? Number.NaN : (Number(fields[11]) + Number(fields[12])) / 100
  }

  peakRssBytes(): number {
    return Number(/VmHWM:\s+(\d+) kB/.exec(this.#proc('status'))?.[1] ?? Number.NaN) * 1024
  }

  async stop(): Promise<void> {
    this.client.close()
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }

  #proc(file: string): string {
    try {
      return readFileSync(`/proc/${this.#child.pid}/${file}`, 'utf8')
    } catch {
      return ''
    }
  }
}

function printed(result: FilesResult): string {
  const rows = result.pairs.map(
    ({ sendBps, blastBps, ratio, stealShare, senderCpuSecondsPerGB, receiverCpuSecondsPerGB }) =>
      `send ${formatRate(sendBps).padEnd(10)}  blast ${formatRate(blastBps).padEnd(10)}  ratio ${ratio.toFixed(2)}  ` +
      `CPU ${senderCpuSecondsPerGB.toFixed(1)} + ${receiverCpuSecondsPerGB.toFixed(1)} s/GB  steal ${(100 * stealShare).toFixed(1)} %`,
  )
  const memory = `${formatBytes(result.senderPeakRssBytes)} sender, ${formatBytes(result.receiverPeakRssBytes)} receiver`
  return (
    `${rows.join('\n')}\nmedian of ${result.pairs.length}: ${formatBytes(result.bytes)} at ${formatRate(result.sendBps)}, ` +
    `${result.ratio.toFixed(2)} of the bare blast; peak memory ${memory}; ${formatBytes(result.retransmittedBytes)} sent again\n`
  )
}
