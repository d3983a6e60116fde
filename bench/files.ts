/**
 * Measures `weir send` of files between two daemons, beside those of another checkout, an rsync daemon, `weir perf bw` and a
 * one-way node:dgram blast of equal datagrams: goodput, CPU time, memory. They alternate in one run.
 *
 * The time of `weir send` is that of the daemons, without the start of the command (Node.js), and includes the sync and the name.
 * The time of rsync is that of its command. Everything lies in memory where possible, because the disk is not measured.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Progress } from '../lib/client/daemon-client.js'
import { WeirError } from '../lib/errors.js'
import { formatBytes, formatRate, parseBytes } from '../lib/units/units.js'
import { blast } from './dgram-blast.js'
import { RSYNC_MISSING, RsyncDaemon } from './peers/rsync.js'
import { Ballast } from './support/ballast.js'
import { type Checkout, checkouts, nameIn } from './support/checkouts.js'
import { oneOf } from './support/one-of.js'
import { type Candidate, type Figure, inRounds, type Measured, type Rounds } from './support/rounds.js'
import { makeTwoHosts, oneNamespace, type TwoHosts } from './support/two-hosts.js'
import { WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const PAYLOAD_BYTES = 4096
const BLAST_SECONDS = 3
const PERF_SECONDS = 3
const PERF_MESSAGE_BYTES = 1_000_000
const PIECE_BYTES = 64 << 20
const WARM_UPS = 2
const RSYNC = 'rsync daemon'
const SEND = 'weir send'

interface FilesResult {
  benchmark: 'files'
  place: string
  sizes: SizeFigures[]
  skipped: { name: string; why: string }[]
}

interface SizeFigures {
  bytes: number
  /** bit/s. Ratios to the rsync daemon, or without it to `perf bw`. */
  goodput: Rounds & { baseline: string }
  /** Largest resident memory of each of this checkout's daemons so far. */
  senderPeakRssBytes: number
  receiverPeakRssBytes: number
  retransmittedBytes: number
}

/** Two daemons of one checkout. */
interface Pair {
  checkout: Checkout
  sender: WeirDaemon
  receiver: WeirDaemon
  /** Where files arrive. */
  inbox: string
  retransmittedBytes: number
}

/** An rsync daemon, and where files arrive. */
interface Rsync {
  daemon: RsyncDaemon
  folder: string
}

/**
 * Arguments: `--size 1GB,4GB`, `--pairs 3`, `--only send` leaves out `perf bw` and the blast, `--daemon "OPTIONS"` of this
 * checkout's daemons and the other's, `--against DIR`. `--veth`: over a
 * veth pair between two namespaces, as root, instead of loopback.
 */
export async function run(args: string[]): Promise<FilesResult> {
  const { values } = parseArgs({
    args,
    options: {
      size: { type: 'string', default: '1GB,4GB' },
      pairs: { type: 'string', default: '3' },
      only: { type: 'string' },
      daemon: { type: 'string', default: '' },
      against: { type: 'string' },
      veth: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const sizes = values.size.split(',').map(text => parseBytes(text))
  const rounds = wholeNumber('--pairs', values.pairs)
  const only = oneOf('--only', values.only, 'send')
  const both = checkouts(values.against)
  const more = values.daemon.split(' ').filter(word => word !== '')
  const hosts = values.veth ? makeTwoHosts() : oneNamespace()
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'weir-bench-'))
  const stops: (() => Promise<void>)[] = []
  try {
    const pairs: Pair[] = []
    for (const checkout of both) {
      const start = async (host: 'a' | 'b') => {
        const daemon = await WeirDaemon.start(folder, `${checkout.name}-${host}`, hosts[host], more, checkout)
        stops.push(() => daemon.stop())
        return daemon
      }
      const [sender, receiver] = [await start('a'), await start('b')]
      const inbox = join(folder, `${checkout.name}-b-inbox`)
      pairs.push({ checkout, sender, receiver, inbox, retransmittedBytes: 0 })
    }
    const rsyncFolder = join(folder, 'rsync')
    mkdirSync(rsyncFolder)
    const rsync = RSYNC_MISSING === null ? await RsyncDaemon.start(hosts, rsyncFolder) : null
    if (rsync !== null) stops.push(() => rsync.stop())
    const bench = new FilesBench(folder, hosts, pairs, rsync && { daemon: rsync, folder: rsyncFolder })
    const figures: SizeFigures[] = []
    for (const bytes of sizes) figures.push(await bench.measure(bytes, rounds, only === undefined))
    const skipped = RSYNC_MISSING === null ? [] : [{ name: RSYNC, why: RSYNC_MISSING }]
    const result: FilesResult = { benchmark: 'files', place: hosts.note, sizes: figures, skipped }
    if (!values.json) process.stdout.write(printed(result))
    return result
  } finally {
    await Promise.all(stops.map(stop => stop()))
    rmSync(folder, { recursive: true, force: true })
    hosts.close()
  }
}

class FilesBench {
  readonly #folder: string
  readonly #hosts: TwoHosts
  readonly #pairs: readonly Pair[]
  readonly #rsync: Rsync | null
  readonly #file: string
  /** The copy that arrived last: the next one takes its memory. */
  #last: string | null = null

  constructor(folder: string, hosts: TwoHosts, pairs: readonly Pair[], rsync: Rsync | null) {
    this.#folder = folder
    this.#hosts = hosts
    this.#pairs = pairs
    this.#rsync = rsync
    this.#file = join(folder, 'file')
  }

  /** @param withRest `perf bw` and the blast too */
  async measure(bytes: number, rounds: number, withRest: boolean): Promise<SizeFigures> {
    checkRoom(this.#folder, bytes)
    writeFile(this.#file, bytes)
    // Not counted: V8 compiles the daemons' code, and optimises it later.
    for (const pair of this.#pairs) for (let i = 0; i < WARM_UPS; i++) await this.#send(pair, bytes)
    for (const pair of this.#pairs) pair.retransmittedBytes = 0
    const candidates = this.#candidates(bytes, withRest)
    const baseline = this.#rsync === null ? 'perf bw' : RSYNC
    const goodput = { ...(await inRounds(candidates, rounds, baseline)), baseline }
    const { sender, receiver, retransmittedBytes } = this.#pairs[0]!
    return {
      bytes,
      goodput,
      senderPeakRssBytes: sender.peakRssBytes(),
      receiverPeakRssBytes: receiver.peakRssBytes(),
      retransmittedBytes,
    }
  }

  #candidates(bytes: number, withRest: boolean): Candidate[] {
    const [here, other] = this.#pairs.map(pair => ({
      name: nameIn(pair.checkout, SEND),
      measure: () => this.#send(pair, bytes),
    }))
    const candidates: Candidate[] = other === undefined ? [here!] : [{ ...here!, other: other.name }, other]
    if (this.#rsync !== null) candidates.push({ name: RSYNC, measure: () => this.#sendByRsync(bytes) })
    if (!withRest) return candidates
    candidates.push(
      { name: 'perf bw', measure: () => this.#perf() },
      { name: 'bare blast', measure: blastOnce },
    )
    return candidates
  }

  async #send(pair: Pair, bytes: number): Promise<Measured> {
    const { sender, receiver, inbox } = pair
    const copy = join(inbox, 'file')
    return await this.#arriving(copy, bytes, async onProgress => {
      const cpu = [sender.cpuSeconds(), receiver.cpuSeconds()] as const
      const start = performance.now()
      const sent = await sender.client.send(this.#file, this.#hosts.b.address, {
        overwrite: true,
        onProgress: (progress: Progress) => onProgress(Number(progress.bytes)),
      })
      const seconds = (performance.now() - start) / 1000
      pair.retransmittedBytes += Number(sent.retransmittedBytes)
      const perGB = (cpuSeconds: number) => (cpuSeconds * 1e9) / bytes
      const client = perGB(sender.cpuSeconds() - cpu[0])
      return {
        value: (bytes * 8) / seconds,
        cpu: { client, server: perGB(receiver.cpuSeconds() - cpu[1]) },
      }
    })
  }

  async #sendByRsync(bytes: number): Promise<Measured> {
    const { daemon, folder } = this.#rsync!
    const copy = join(folder, 'file')
    return await this.#arriving(copy, bytes, onProgress => daemon.send(this.#file, copy, onProgress))
  }

  /** The copy before gives up its memory as the new one grows. */
  async #arriving(
    copy: string,
    bytes: number,
    measure: (onProgress: (bytes: number) => void) => Promise<Measured>,
  ): Promise<Measured> {
    const ballast = this.#last === null ? null : new Ballast(this.#last, join(this.#folder, 'ballast'))
    this.#last = null
    const measured = await measure(arrived => ballast?.shrinkTo(bytes - arrived))
    ballast?.close()
    this.#last = copy
    return measured
  }

  async #perf(): Promise<Measured> {
    const { goodputBps } = await this.#pairs[0]!.sender.client.perf({
      host: this.#hosts.b.address,
      test: 'bw',
      op: 'write',
      size: PERF_MESSAGE_BYTES,
      qps: 1,
      depth: 128,
      durationNs: PERF_SECONDS * 1e9,
      warmupNs: 2e8,
    })
    return { value: goodputBps }
  }
}

async function blastOnce(): Promise<Measured> {
  return { value: (await blast(BLAST_SECONDS, PAYLOAD_BYTES)).goodputBps }
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

function printed({ place, sizes, skipped }: FilesResult): string {
  const lines = sizes.flatMap(size => {
    const { bytes, goodput, senderPeakRssBytes, receiverPeakRssBytes, retransmittedBytes } = size
    const steal = `steal at most ${(100 * goodput.stealShare).toFixed(1)} %`
    const memory = `${formatBytes(senderPeakRssBytes)} sender, ${formatBytes(receiverPeakRssBytes)} receiver`
    return [
      `a file of ${formatBytes(bytes)} ${place}: median (least to most), ratio to ${goodput.baseline}; ${steal}`,
      ...goodput.figures.map(row),
      `  peak memory ${memory}; ${formatBytes(retransmittedBytes)} retransmitted`,
    ]
  })
  const left = skipped.map(({ name, why }) => `left out: ${name}: ${why}`)
  return `${[...lines, ...left].join('\n')}\n`
}

function row({ name, median, min, max, ratio, cpu, byOther }: Figure): string {
  const rate = (bps: number) => formatRate(Math.round(bps))
  const cost = cpu === null ? '' : `  CPU ${cpu.client.toFixed(2)} + ${cpu.server.toFixed(2)} s/GB`
  const other = byOther === undefined ? '' : `  by the other checkout ${byOther.ratio.toFixed(2)}`
  return `  ${name.padEnd(20)} ${rate(median).padStart(10)}  (${rate(min)} to ${rate(max)})  ${ratio.toFixed(2)}${cost}${other}`
}
