import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Progress } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { whyNotRead } from '../../lib/file-reason.js'
import type { Scenario, ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { PortResult, RunResult } from '../../lib/scenario/result/result.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { type FlowOutcome, makeResult } from '../results/report.js'
import { FlowSeries } from './flow-series.js'
import { type BringUp, type Lab, withLab } from './lab.js'
import { realTimeResult } from './real-time-result.js'

/** A file that one host sends to another. */
export interface FileTransfer {
  from: string
  to: string
  /** Path on this machine. */
  path: string
  /** Name in the receiver's inbox. */
  name: string
  startMs: number
}

/** The progress, a few times a second. */
export interface FilesView {
  /** Since the first transfer's start. */
  seconds: number
  /** One for each transfer. Null before its first report. */
  transfers: readonly (Progress | null)[]
  ports: readonly PortResult[]
  /** What the queue of each port holds now. */
  queueBytes: readonly number[]
}

interface SendFilesOptions {
  onUp?: () => void
  onView?: (view: FilesView) => void
  /** Interval of views. Default 250 ms. */
  viewEveryMs?: number
}

/** Digest for the comparison at the end. */
const DIGEST = 'sha256'
const FLOW_PRIORITY = 3

/**
 * Brings up the scenario's network and sends real files across it. In addition to the transfer's own digest,
 * it reads each delivered file again and compares it with its source.
 */
export async function sendFiles(
  up: BringUp,
  scenario: Scenario,
  transfers: readonly FileTransfer[],
  options: SendFilesOptions = {},
): Promise<RunResult> {
  const began = performance.now()
  const sizes = await Promise.all(transfers.map(({ path }) => sizeOf(path)))
  return await withLab(up, scenario, async (lab, signal) => {
    options.onUp?.()
    const sending = new Sending(lab, transfers, sizes, signal)
    const run = await sending.run(options)
    return makeResult(scenario, {
      on: lab.on,
      ...run,
      wallSeconds: (performance.now() - began) / 1000,
    })
  })
}

class Sending {
  readonly #lab: Lab
  readonly #transfers: readonly FileTransfer[]
  readonly #sizes: readonly number[]
  readonly #signal: AbortSignal
  readonly #progress: (Progress | null)[]
  readonly #series: FlowSeries
  #beganMs = 0

  constructor(lab: Lab, transfers: readonly FileTransfer[], sizes: readonly number[], signal: AbortSignal) {
    this.#lab = lab
    this.#transfers = transfers
    this.#sizes = sizes
    this.#signal = signal
    this.#progress = transfers.map(() => null)
    this.#series = new FlowSeries(transfers.map(flowName))
  }

  async run(options: SendFilesOptions) {
    await this.#lab.begin()
    this.#beganMs = performance.now()
    const stopViews = this.#startViews(options)
    try {
      const sent = await Promise.all(this.#transfers.map((transfer, i) => this.#send(transfer, i)))
      const durationNs = Math.round(this.#elapsedMs() * MILLISECOND)
      await stopViews()
      // The last view shows everything as sent.
      if (options.onView) await this.#view(options.onView)
      const report = await this.#lab.report()
      const { ports, series, events } = report
      const outcomes = await Promise.all(sent.map((outcome, i) => this.#compared(outcome, i)))
      return {
        durationNs,
        flows: sent.map(({ flow }) => flow),
        outcomes,
        ports,
        series: { ...series, ...this.#series.all() },
        realTime: realTimeResult(report, null),
        events,
      }
    } finally {
      await stopViews()
    }
  }

  async #send(transfer: FileTransfer, index: number): Promise<{ flow: ScenarioFlow; outcome: FlowOutcome }> {
    const { from, to, path, name, startMs } = transfer
    await sleep(startMs, undefined, { signal: this.#signal })
    const startNs = Math.round(this.#elapsedMs() * MILLISECOND)
    const reply = await this.#lab.host(from).client.send(path, this.#lab.host(to).address, {
      name,
      signal: this.#signal,
      onProgress: progress => {
        this.#progress[index] = progress
        this.#series.sample(index, Math.round(this.#elapsedMs() * MILLISECOND), progress)
      },
    })
    const bytes = this.#sizes[index]!
    const last = this.#progress[index]
    if (last) this.#progress[index] = { ...last, bytes: last.totalBytes }
    return {
      flow: { name: flowName(transfer), from, to, bytes, startNs, priority: FLOW_PRIORITY },
      outcome: {
        fctNs: Math.round(reply.seconds * SECOND),
        ackedBytes: reply.bytes,
        retransmittedBytes: reply.retransmittedBytes,
        spuriousRetransmissions: reply.spuriousRetransmissions,
        timeouts: reply.timeouts,
      },
    }
  }

  async #compared({ outcome }: { outcome: FlowOutcome }, index: number): Promise<FlowOutcome> {
    const { path, to, name } = this.#transfers[index]!
    const [sent, arrived] = await Promise.all([
      digestOf(path),
      digestOf(join(this.#lab.host(to).inbox, name)),
    ])
    return { ...outcome, digestEqual: sent === arrived }
  }

  /** Returns a function that ends the views, after the current one. */
  #startViews({ onView, viewEveryMs = 250 }: SendFilesOptions): () => Promise<void> {
    if (onView === undefined) return async () => {}
    const stop = new AbortController()
    const loop = async () => {
      while (!stop.signal.aborted) {
        await this.#view(onView)
        await sleep(viewEveryMs, undefined, { signal: stop.signal })
      }
    }
    // A lab that is ending has no more views. The cause of its end is reported elsewhere.
    const looping = loop().catch(() => {})
    return async () => {
      stop.abort()
      await looping
    }
  }

  async #view(onView: (view: FilesView) => void): Promise<void> {
    const { ports, queueBytes } = await this.#lab.ports()
    onView({ seconds: this.#elapsedMs() / 1000, transfers: this.#progress, ports, queueBytes })
  }

  #elapsedMs(): number {
    return performance.now() - this.#beganMs
  }
}

export function flowName({ from, to }: Pick<FileTransfer, 'from' | 'to'>): string {
  return `${from}-${to}`
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash(DIGEST)
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk)
  return hash.digest('hex')
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(cause => {
    throw new WeirError('WEIR_NO_FILE', `${path} cannot be read: ${whyNotRead(cause)}`, { cause })
  })
  if (!found.isFile()) throw new WeirError('WEIR_NO_FILE', `${path} is no regular file; name one that is`)
  return found.size
}
