/** Writes a file from a ring, chunk by chunk, and checks its digest: what both ends that write a file do. */
import type { WeirError } from '../errors.js'
import { ChunksUnderWay } from './chunks-under-way.js'
import { createDigest, type Digest, digestBeginning, sameDigest } from './digest.js'
import { TransferFailure } from './failure.js'
import type { FileSink, FileStore } from './file.js'
import type { Offer } from './messages.js'
import type { SinkMachine } from './sink-machine.js'

export interface FileIntakeConfig {
  machine: SinkMachine<string>
  store: FileStore
  /** A chunk is in the file. */
  onWritten: () => void
  /** The file is in its place. */
  onFinished: () => void
}

export class FileIntake {
  readonly #config: FileIntakeConfig
  readonly #writes = new ChunksUnderWay()
  #sink: FileSink | null = null
  #digest: Digest | null = null
  #digestBytes: Uint8Array | null = null
  #resumeDigest: Uint8Array = new Uint8Array()
  #ring: Buffer | null = null
  #path = ''

  constructor(config: FileIntakeConfig) {
    this.#config = config
  }

  /** True once `open` has found a file to write to. */
  get opened(): boolean {
    return this.#sink !== null
  }

  /** Path of the file, '' before it is in its place. */
  get path(): string {
    return this.#path
  }

  /** Digest of the file; null before it is in its place. */
  get digest(): { kind: Digest['kind']; bytes: Uint8Array } | null {
    return this.#digestBytes && { kind: this.#digest!.kind, bytes: this.#digestBytes }
  }

  get resumeBytes(): number {
    return this.#sink?.resumeBytes ?? 0
  }

  /** Digest of the first `resumeBytes`. */
  get resumeDigest(): Uint8Array {
    return this.#resumeDigest
  }

  /** Bytes that are in the file, resumed ones included. */
  get writtenBytes(): number {
    const { plan, writtenChunks } = this.#config.machine
    return plan ? Math.min(plan.sizeBytes, plan.positionOf(writtenChunks)) : 0
  }

  /** Opens the file for an offer, and takes what is there of it into the digest. */
  async open(offer: Offer, ring: Buffer): Promise<void> {
    const { store, machine } = this.#config
    this.#ring = ring
    this.#digest = createDigest(offer.digest)
    const sink = await store.open(offer)
    this.#sink = sink
    const read = (into: Uint8Array, position: number) => sink.readBack(into, position)
    await digestBeginning(this.#digest, sink.resumeBytes, ring, read, () => machine.state === 'opening')
    this.#resumeDigest = this.#digest.soFar()
  }

  /** What is to be done next, or null. */
  nextStep(): (() => Promise<void>) | null {
    const { machine } = this.#config
    // The ring may be given to others when no step is left.
    if (!machine.receives) return this.#writes.empty ? null : () => this.#writes.drain()
    if (machine.chunkToWrite >= 0 || !this.#writes.empty) return () => this.#write()
    if (machine.readyToFinish) return () => this.#finish()
    return null
  }

  /**
   * Closes the file. What there is of it is kept for another attempt when the connection was lost, and removed
   * otherwise.
   */
  async close(failure: WeirError | null): Promise<void> {
    if (failure?.code === 'WEIR_CONNECTION_LOST') await this.#sink?.keep()
    else await this.#sink?.discard()
  }

  /** While the disk works, so does the digest. */
  async #write(): Promise<void> {
    const { machine, onWritten } = this.#config
    const plan = machine.plan!
    while (machine.chunkToWrite >= 0 && !this.#writes.full) {
      const chunk = machine.chunkToWrite
      const at = machine.slotOf(chunk) * plan.chunkBytes
      const bytes = this.#ring!.subarray(at, at + plan.lengthOf(chunk))
      machine.onWriting()
      this.#writes.add(bytes, this.#sink!.write(bytes, plan.positionOf(chunk)))
      this.#digest!.update(bytes)
    }
    await this.#writes.takeOldest()
    machine.onWritten()
    onWritten()
  }

  async #finish(): Promise<void> {
    const { machine, onFinished } = this.#config
    const digest = this.#digest!.finish()
    if (!sameDigest(digest, machine.digest!)) {
      const text = 'the file that arrived has another digest than the one sent'
      throw new TransferFailure('DIGEST_MISMATCH', text)
    }
    this.#path = await this.#sink!.commit()
    this.#digestBytes = digest
    machine.onFinished()
    onFinished()
  }
}
