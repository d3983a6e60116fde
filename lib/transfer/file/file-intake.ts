/**
 * Writes a file from a ring, chunk by chunk, and checks its digest: what both ends that write a file do.
 *
 * Where chunks have digests, the intake compares each before it writes it. A damaged chunk never reaches the file: the
 * intake leaves it out of the file's digest and asks for it again. It reads and compares chunks that were there before in turn.
 */
import type { WeirError } from '../../errors.js'
import type { ConnectionSeal } from '../../nic/types.js'
import { wholeChunksOf } from '../protocol/chunk-plan.js'
import {
  createRestorableDigest,
  type Digest,
  digestBeginning,
  type RestorableDigest,
  sameDigest,
} from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import type { SinkMachine } from '../protocol/sink-machine.js'
import { ChunksUnderWay } from './chunks-under-way.js'
import type { FileSink, FileStore, FileUser } from './file.js'

const NOTHING_TO_WRITE = Promise.resolve()

interface FileIntakeConfig {
  machine: SinkMachine
  store: FileStore
  /** Who the file is for. */
  user: FileUser
  /** What opens the chunks of the peer; null: they come in the clear. */
  seal: () => ConnectionSeal | null
  /** A chunk is in the file. */
  onWritten: () => void
  /** A chunk does not have its digest, and is to be requested again. */
  onDamaged: () => void
  /** The file is in its place. */
  onFinished: () => void
}

export class FileIntake {
  readonly #config: FileIntakeConfig
  readonly #writes = new ChunksUnderWay()
  #sink: FileSink | null = null
  #digest: RestorableDigest | null = null
  #digestBytes: Uint8Array | null = null
  #resumeBytes = 0
  #resumeDigest: Uint8Array = new Uint8Array()
  /** The last chunk that was found damaged, or -1. It is written even if it was there before. */
  #damagedChunk = -1
  #ring: Buffer | null = null
  /** A chunk of zeros, once there was one. */
  #zeros: Buffer | null = null
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

  /** Bytes that are there of an earlier transfer; whole chunks of them where chunks have digests. */
  get resumeBytes(): number {
    return this.#resumeBytes
  }

  /** Digest of the first `resumeBytes`; empty where chunks have digests. */
  get resumeDigest(): Uint8Array {
    return this.#resumeDigest
  }

  /** Bytes that are in the file, resumed ones included. */
  get writtenBytes(): number {
    const { plan, written } = this.#config.machine.chunks
    return plan ? plan.bytesAfter(written) : 0
  }

  /** Opens the file for an offer. Where chunks have no digests, takes what is there of it into the file's. */
  async open(offer: Offer, ring: Buffer, chunkBytes: number): Promise<void> {
    const { store, machine, user } = this.#config
    this.#ring = ring
    const { digest: kind, size, chunkDigests = false } = offer
    this.#digest = createRestorableDigest(kind)
    const sink = await store.open(offer, user)
    this.#sink = sink
    if (chunkDigests) {
      this.#resumeBytes = wholeChunksOf(sink.resumeBytes, size, chunkBytes)
      return
    }
    this.#resumeBytes = sink.resumeBytes
    await this.#digestBeginning(this.#digest, sink.resumeBytes, ring, () => !machine.ended)
    this.#resumeDigest = this.#digest.soFar()
  }

  async #digestBeginning(digest: Digest, bytes: number, memory: Buffer, goOn: () => boolean): Promise<void> {
    const read = (into: Uint8Array, position: number) => this.#sink!.readBack(into, position)
    await digestBeginning(digest, bytes, memory, read, goOn)
  }

  /** What is to be done next, or null. */
  nextStep(): (() => Promise<void>) | null {
    const { chunks } = this.#config.machine
    // The ring may be given to others when no step is left.
    if (!chunks.moves) return this.#writes.empty ? null : () => this.#writes.drain()
    if (chunks.toWrite >= 0 || !this.#writes.empty) return () => this.#write()
    if (chunks.readyToFinish) return () => this.#finish()
    return null
  }

  /**
   * Closes the file. If the connection was lost, its part is kept for another attempt. If chunks were damaged too often, what
   * lies before them is kept. In all other cases the file is removed.
   */
  async close(failure: WeirError | null): Promise<void> {
    const { chunks, offer } = this.#config.machine
    const { worthBytes } = chunks
    // Nobody can read a pipe again from there on.
    if (offer?.openEnd) await this.#sink?.discard()
    else if (failure?.code === 'WEIR_CONNECTION_LOST') await this.#sink?.keep()
    else if (worthBytes > 0 && this.writtenBytes > 0) await this.#sink?.keep(worthBytes)
    else await this.#sink?.discard()
  }

  /** While the disk works, so does the digest. */
  async #write(): Promise<void> {
    const { chunks } = this.#config.machine
    const plan = chunks.plan!
    while (chunks.toWrite >= 0 && !this.#writes.full) {
      const chunk = chunks.toWrite
      const at = chunks.slotOf(chunk) * plan.slotBytes
      const isWhole = chunk === this.#damagedChunk
      const isThere = plan.isKept(chunk) && !isWhole
      const bytes = this.#bytesOf(chunk, at, plan.isZeros(chunk) && !isThere && !isWhole)
      const isAuthentic = this.#unseal(chunk, at, plan.movesDigestAlone(chunk) && !isWhole)
      if (isThere) await this.#sink!.readBack(bytes, plan.positionOf(chunk))
      if (plan.digestBytes > 0) {
        const stated = this.#ring!.subarray(at + bytes.length, at + bytes.length + plan.digestBytes)
        if (!this.#takeIn(bytes, stated) || !isAuthentic) return this.#onDamaged(chunk)
      }
      chunks.onWriting()
      this.#writes.add(bytes, isThere ? NOTHING_TO_WRITE : this.#sink!.write(bytes, plan.positionOf(chunk)))
      if (plan.digestBytes === 0) this.#digest!.update(bytes)
    }
    await this.#oldestWritten()
  }

  /** What is to be written of the chunk, of which the slot begins at `at`. */
  #bytesOf(chunk: number, at: number, isZeros: boolean): Buffer {
    const plan = this.#config.machine.chunks.plan!
    const length = plan.lengthOf(chunk)
    if (!isZeros) return this.#ring!.subarray(at, at + length)
    this.#zeros ??= Buffer.alloc(plan.chunkBytes)
    return this.#zeros.subarray(0, length)
  }

  async #oldestWritten(): Promise<void> {
    const { machine, onWritten } = this.#config
    await this.#writes.takeOldest()
    machine.chunks.onWritten()
    onWritten()
  }

  /** Opens what came of the chunk, where it stands in the ring. Returns false if it is not the peer's chunk of that place. */
  #unseal(chunk: number, begin: number, digestAlone: boolean): boolean {
    const { seal, machine } = this.#config
    const plan = machine.chunks.plan!
    const ring = this.#ring!
    const end = begin + plan.lengthOf(chunk) + plan.digestBytes
    const piece = ring.subarray(digestAlone ? end - plan.digestBytes : begin, end)
    const trailer = ring.subarray(end, end + plan.sealBytes)
    return seal()?.openPiece(piece, trailer, chunk, plan.positionOf(chunk)) ?? true
  }

  /** Takes a chunk into the file's digest. Returns false if that is not the one stated for it. */
  #takeIn(bytes: Uint8Array, stated: Uint8Array): boolean {
    const digest = this.#digest!
    digest.mark()
    digest.update(bytes)
    return sameDigest(digest.soFar(), stated)
  }

  /** The other end sends the chunk again. */
  #onDamaged(chunk: number): void {
    const { machine, onDamaged } = this.#config
    this.#damagedChunk = chunk
    machine.chunks.onDamaged()
    if (machine.ended) throw machine.failure
    this.#digest!.back()
    onDamaged()
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
