/**
 * One file on its way out, at the end that was asked for it: puts chunks into a ring and announces them to the getter, which
 * READs them.
 *
 * The ring stays registered until the connection ends, even after a failure. Otherwise the getter would see its READs refused
 * instead of the reason.
 */
import { Access } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileSource, SharedFiles } from '../file/file.js'
import { FileFeed } from '../file/file-feed.js'
import { createDigest, DIGEST_BYTES, type Digest } from '../protocol/digest.js'
import {
  type Offer,
  type SenderFigures,
  TRANSFER_VERSION,
  type TransferMessage,
} from '../protocol/messages.js'
import { ServerMachine } from '../protocol/server-machine.js'
import { wrapped } from '../protocol/wrapped-count.js'
import type { TransferEndpoint } from './endpoint.js'
import type { PassiveMover, PassiveMoverHost } from './mover.js'

export interface ServeMoverConfig {
  files: Pick<SharedFiles, 'open'>
}

export class ServeMover implements PassiveMover {
  readonly machine: ServerMachine
  readonly peerRole = 'getter'
  /** This end has nothing but messages in flight. */
  readonly awaitsTransport = false
  readonly #files: Pick<SharedFiles, 'open'>
  readonly #endpoint: TransferEndpoint
  readonly #host: PassiveMoverHost
  #source: FileSource | null = null
  #feed: FileFeed | null = null

  constructor({ files }: ServeMoverConfig, endpoint: TransferEndpoint, host: PassiveMoverHost) {
    this.#files = files
    this.#endpoint = endpoint
    this.#host = host
    this.machine = new ServerMachine(endpoint.ringBytes)
  }

  get name(): string {
    return this.machine.request?.path ?? ''
  }

  get sizeBytes(): number {
    return this.#source?.size ?? 0
  }

  get deliveredBytes(): number {
    const { plan, credited } = this.machine.chunks
    return plan ? plan.bytesAfter(credited) : 0
  }

  get resumedBytes(): number {
    return this.machine.chunks.plan?.resumeBytes ?? 0
  }

  get figures(): SenderFigures | null {
    return this.#endpoint.figures
  }

  get isBusy(): boolean {
    return this.machine.state === 'opening'
  }

  get granted(): boolean {
    return this.#feed !== null
  }

  get deliveredPath(): string {
    return this.machine.state === 'done' ? this.name : ''
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    this.machine.sealBytes = this.#endpoint.sealBytes
    this.machine.onMessage(message)
    if (message.body !== 'ping' && !this.machine.ended) this.#host.onProgress(now)
  }

  /** The getter moves the chunks. */
  onTransferred(): void {}

  onLaneLost(): void {}

  advance(now: Nanos): void {
    const { machine } = this
    const { channel, connection, lanes, figures } = this.#endpoint
    const again = machine.chunks.toRepeat
    if (again >= 0) {
      channel.send(now, { body: 'again', again: { chunk: wrapped(again) } })
      machine.onRepeated()
    }
    // One message is for all chunks that have come into the ring. While it is in flight, the next one waits.
    if (channel.busy || machine.chunks.toPost < 0) return
    const path: SenderFigures = { ...figures!, windowBytes: connection!.stats.windowBytes }
    const laneWindows = lanes.windows
    channel.send(now, { body: 'filled', filled: { ...machine.takeFilled(), path, laneWindows } })
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.machine.state === 'opening' && !this.#source) return () => this.#open()
    return this.#feed?.nextStep() ?? null
  }

  async close(): Promise<void> {
    await this.#source?.close()
  }

  async #open(): Promise<void> {
    const { machine } = this
    const { path, digest: kind, transfer, streams = 1 } = machine.request!
    await this.#host.admit(transfer)
    if (machine.state !== 'opening') return
    const digest = createDigest(kind)
    const { ring } = this.#endpoint
    const source = await this.#files.open(path)
    this.#source = source
    if (machine.state !== 'opening' || this.#host.hasEnded) return
    const { key: rkey, address, length: bytes } = this.#endpoint.registerRing(Access.REMOTE_READ)
    this.#feed = new FileFeed({
      chunks: machine.chunks,
      source,
      digest,
      ring,
      seal: () => this.#endpoint.seal,
      onLoaded: () => this.#host.advance(),
      onFinished: digest => this.#endpoint.say({ body: 'commit', commit: { digest } }),
    })
    machine.onOffered(source.size, DIGEST_BYTES[digest.kind])
    this.#host.onProgress(this.#endpoint.now())
    const laneKey = streams > 1 ? this.#endpoint.admitLanes(null) : new Uint8Array()
    const offer = { ...offerOf(source, digest, { rkey, address, bytes }), laneKey }
    this.#endpoint.say({ body: 'offer', offer })
  }
}

function offerOf(source: FileSource, digest: Digest, ring: Offer['ring']): Offer {
  const { name, size, allocatedBytes, mode, mtimeMs, mtimeNanos } = source
  return {
    version: TRANSFER_VERSION,
    name,
    directory: '',
    size,
    allocatedBytes,
    mode,
    mtimeMs,
    mtimeNanos,
    overwrite: false,
    transfer: new Uint8Array(),
    digest: digest.kind,
    ring,
    chunkDigests: true,
  }
}
