/** Reads a file into a ring, chunk by chunk, and makes its digest: what both ends that have the file do. */
import { type Digest, digestBeginning } from './digest.js'
import type { FileSource } from './file.js'
import type { SourceMachine } from './source-machine.js'

/** Chunks that are read at a time. */
const READS_MAX = 3

export interface FileFeedConfig {
  machine: SourceMachine<string>
  source: FileSource
  digest: Digest
  ring: Buffer
  /** A chunk is in the ring. */
  onLoaded: () => void
  /** The whole file has been handed over and did not change meanwhile: Commit is due. */
  onFinished: (digest: Uint8Array) => void
}

export class FileFeed {
  readonly #config: FileFeedConfig
  #resumeDigested = false

  constructor(config: FileFeedConfig) {
    this.#config = config
  }

  /** What is to be done next, or null. */
  nextStep(): (() => Promise<void>) | null {
    const { machine } = this.#config
    if (machine.state !== 'streaming') return null
    if (!this.#resumeDigested) return () => this.#digestResumed()
    if (machine.loadableChunks > 0) return () => this.#load()
    if (machine.readyToCommit) return () => this.#finish()
    return null
  }

  /** Takes the bytes that the other end has already into the digest. */
  async #digestResumed(): Promise<void> {
    const { machine, source, digest, ring } = this.#config
    const read = (into: Uint8Array, position: number) => source.read(into, position)
    await digestBeginning(digest, machine.plan!.resumeBytes, ring, read, () => machine.state === 'streaming')
    this.#resumeDigested = true
  }

  /** Several at a time: while one is taken into the digest, the next is read. */
  async #load(): Promise<void> {
    const { machine, source, digest, ring, onLoaded } = this.#config
    const plan = machine.plan!
    const first = machine.loadedChunks
    const count = Math.min(machine.loadableChunks, READS_MAX)
    const pieces: Buffer[] = []
    const reads: Promise<void>[] = []
    for (let chunk = first; chunk < first + count; chunk++) {
      const at = machine.localSlotOf(chunk) * plan.chunkBytes
      const bytes = ring.subarray(at, at + plan.lengthOf(chunk))
      machine.onLoading()
      pieces.push(bytes)
      reads.push(source.read(bytes, plan.positionOf(chunk)))
    }
    const settled = Promise.allSettled(reads)
    try {
      for (let i = 0; i < count; i++) {
        await reads[i]
        digest.update(pieces[i]!)
        machine.onLoaded()
        onLoaded()
      }
    } finally {
      // The ring may be given to others when this step is over.
      await settled
    }
  }

  async #finish(): Promise<void> {
    const { machine, source, digest, onFinished } = this.#config
    await source.verifyUnchanged()
    if (machine.state !== 'streaming') return
    machine.onCommitted()
    onFinished(digest.finish())
  }
}
