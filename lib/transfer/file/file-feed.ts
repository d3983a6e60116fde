/** Reads a file into a ring, chunk by chunk, and makes its digest: what both ends that have the file do. */
import type { ConnectionSeal } from '../../nic/types.js'
import { ChunkDigests } from '../protocol/chunk-digests.js'
import { OPEN_END } from '../protocol/chunk-plan.js'
import { DIGEST_BYTES, type Digest, digestBeginning, sameDigest } from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import type { SourceChunks } from '../protocol/source-chunks.js'
import { ChunksUnderWay } from './chunks-under-way.js'
import type { FileSource } from './file.js'
import { areZeros } from './holes.js'

interface FileFeedConfig {
  chunks: SourceChunks
  source: FileSource
  digest: Digest
  ring: Buffer
  /** What seals chunks for the peer; null: they move in the clear. */
  seal: () => ConnectionSeal | null
  /** A chunk is in the ring. */
  onLoaded: () => void
  /** The whole file has been handed over and did not change meanwhile: Commit is due. */
  onFinished: (digest: Uint8Array) => void
}

export class FileFeed {
  readonly #config: FileFeedConfig
  readonly #reads = new ChunksUnderWay()
  readonly #digests: ChunkDigests
  #resumeDigested = false

  constructor(config: FileFeedConfig) {
    this.#config = config
    this.#digests = new ChunkDigests(DIGEST_BYTES[config.digest.kind])
  }

  /** What is to be done next, or null. */
  nextStep(): (() => Promise<void>) | null {
    const { chunks } = this.#config
    if (chunks.toReload >= 0) return () => this.#reload()
    // The ring may be given to others when no step is left.
    if (!chunks.streams) return this.#reads.empty ? null : () => this.#reads.drain()
    if (!this.#resumeDigested) return () => this.#digestResumed()
    if (this.#mayLoad || !this.#reads.empty) return () => this.#load()
    if (chunks.readyToCommit) return () => this.#finish()
    return null
  }

  /** Takes the bytes that the other end has already into the digest. Throws PART_DIFFERS when they differ. */
  async #digestResumed(): Promise<void> {
    const { chunks, source, digest, ring } = this.#config
    const { resumeBytes, digestBytes } = chunks.plan!
    const goesOn = () => chunks.streams
    // A file that changed between two attempts is an error, and no reason to begin anew.
    if (resumeBytes > 0) await source.verifyUnchanged()
    // The feed loads those chunks like the others, for their digests.
    if (digestBytes > 0) {
      this.#resumeDigested = true
      return
    }
    const read = (into: Uint8Array, position: number) => source.read(into, position)
    await digestBeginning(digest, resumeBytes, ring, read, goesOn)
    const theirs = chunks.resumeDigest
    if (resumeBytes > 0 && theirs.length > 0 && goesOn() && !sameDigest(digest.soFar(), theirs)) {
      const text = `what an earlier transfer has left of ${source.name} is not the beginning of this file`
      throw new TransferFailure('PART_DIFFERS', text)
    }
    this.#resumeDigested = true
  }

  /** While one is taken into the digest, the next are read. */
  async #load(): Promise<void> {
    const { chunks, source, digest, ring, onLoaded } = this.#config
    const plan = chunks.plan!
    const oldest = chunks.loaded
    while (this.#mayLoad && !this.#reads.full) {
      const chunk = chunks.toLoad
      const at = chunks.localSlotOf(chunk) * plan.slotBytes
      const bytes = ring.subarray(at, at + plan.lengthOf(chunk))
      chunks.onLoading()
      this.#reads.add(bytes, source.read(bytes, plan.positionOf(chunk)))
    }
    const bytes = await this.#reads.takeOldest()
    if (plan.isOpen && source.size !== OPEN_END) plan.endAt(source.size)
    digest.update(bytes.subarray(0, plan.lengthOf(oldest)))
    if (plan.digestBytes > 0) {
      this.#digests.add(digest.soFar())
      this.#stateDigest(oldest, chunks.localSlotOf(oldest))
      if (this.#isHole(oldest, bytes)) plan.noteZeros(oldest)
      this.#seal(oldest, chunks.localSlotOf(oldest), plan.movesDigestAlone(oldest))
    }
    chunks.onLoaded()
    onLoaded()
  }

  #isHole(chunk: number, bytes: Uint8Array): boolean {
    const { chunks, source } = this.#config
    const plan = chunks.plan!
    if (!plan.movesZerosAlone || !areZeros(bytes)) return false
    return source.mayBeHole(plan.positionOf(chunk), plan.lengthOf(chunk))
  }

  /** A chunk may be read now. A pipe is read chunk by chunk: only then is it known whether there is another one. */
  get #mayLoad(): boolean {
    const { chunks, source } = this.#config
    if (chunks.toLoad < 0) return false
    return source.pipe === undefined || (this.#reads.empty && source.pipe.has(chunks.plan!.chunkBytes))
  }

  /** Writes the digest of the chunk behind it, where it stands in the ring. */
  #stateDigest(chunk: number, slot: number): void {
    const { chunks, ring } = this.#config
    const plan = chunks.plan!
    ring.set(this.#digests.of(chunk), slot * plan.slotBytes + plan.lengthOf(chunk))
  }

  /** Seals what moves of the chunk, where it stands in the ring. */
  #seal(chunk: number, slot: number, digestAlone: boolean): void {
    const { chunks, ring, seal } = this.#config
    const plan = chunks.plan!
    const begin = slot * plan.slotBytes
    const end = begin + plan.lengthOf(chunk) + plan.digestBytes
    const piece = ring.subarray(digestAlone ? end - plan.digestBytes : begin, end)
    seal()?.sealPiece(piece, ring.subarray(end, end + plan.sealBytes), chunk, plan.positionOf(chunk))
  }

  /** A chunk did not have its digest: it is read again. */
  async #reload(): Promise<void> {
    const { chunks, source, ring, onLoaded } = this.#config
    const plan = chunks.plan!
    const chunk = chunks.toReload
    const slot = chunks.repeatSlot
    const at = slot * plan.slotBytes
    chunks.onReloading()
    if (source.pipe) {
      // With its digest and as it was sealed: the same record once more.
      const from = chunks.localSlotOf(chunk) * plan.slotBytes
      ring.copyWithin(at, from, from + plan.wholeBytesOf(chunk))
    } else {
      await source.read(ring.subarray(at, at + plan.lengthOf(chunk)), plan.positionOf(chunk))
      await source.verifyUnchanged()
      this.#stateDigest(chunk, slot)
      this.#seal(chunk, slot, false)
    }
    chunks.onReloaded()
    onLoaded()
  }

  async #finish(): Promise<void> {
    const { chunks, source, digest, onFinished } = this.#config
    await source.verifyUnchanged()
    if (!chunks.streams) return
    chunks.onCommitted()
    onFinished(digest.finish())
  }
}
