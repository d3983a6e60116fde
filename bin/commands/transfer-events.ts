/** What `--json` of `weir send` and `weir get` prints: a line an event. docs/transfers.md has the fields. */
import type { Progress } from '../../lib/client/daemon-client.js'
import type { FileReport, Item, TransferReport } from './transfer-item.js'

/** Version of the events. Fields may be added to it. */
const SCHEMA = 1
/** Between two lines of progress. */
const PROGRESS_EVERY_MS = 1000

export class TransferEvents {
  readonly #output: NodeJS.WriteStream
  #nextMs = 0
  /** Number of the attempt that the last retry event was about. */
  #retry = 0

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
  }

  start(items: readonly Item[]): void {
    this.#say('start', { schema: SCHEMA, items: items.map(({ file, host }) => ({ file, host })) })
  }

  /** The first of an item, then one a second. */
  progress({ file, host }: Item, progress: Progress): void {
    const { state, retry, retries, retryInMs } = progress
    if (retry === 0) this.#retry = 0
    if (state === 'waiting' && retry !== this.#retry) {
      this.#retry = retry
      this.#say('retry', { file, host, retry, retries, inMs: retryInMs })
    }
    const now = performance.now()
    if (now < this.#nextMs) return
    this.#nextMs = now + PROGRESS_EVERY_MS
    this.#say('progress', { file, host, ...figuresOf(progress) })
  }

  file(report: FileReport): void {
    this.#nextMs = 0
    this.#retry = 0
    this.#say('file', report)
  }

  end({ files, bytes, seconds, error }: TransferReport): void {
    const sums = { files: files.length, bytes, seconds }
    if (error === undefined) this.#say('done', sums)
    else this.#say('failed', { ...error, ...sums })
  }

  #say(event: string, content: object): void {
    this.#output.write(`${JSON.stringify({ event, timeMs: Date.now(), ...content })}\n`)
  }
}

function figuresOf(progress: Progress) {
  const { transferId, state, bytes, totalBytes, files, totalFiles, goodputBps, rateBps } = progress
  const { rttNs, pathQueueBytes, pathHops, retransmittedBytes, pathMoves, damagedChunks, attempts } = progress
  const { controller, sealedWith, streams } = progress
  const done = { transferId, state, bytes, totalBytes, files, totalFiles, attempts }
  const path = { goodputBps, rateBps, rttNs, pathQueueBytes, pathHops, controller }
  return { ...done, ...path, retransmittedBytes, pathMoves, damagedChunks, sealedWith, streams }
}
