/**
 * One file on its way out, at the end that was asked for it: puts chunks into a ring and announces them to the getter, which
 * READs them.
 *
 * The ring stays registered until the connection ends, even after a failure: else the getter would see its
 * READs refused instead of the reason.
 */
import { Access } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileSource, SharedFiles } from '../file/file.js'
import { FileFeed } from '../file/file-feed.js'
import { createDigest, DIGEST_BYTES } from '../protocol/digest.js'
import { type SenderFigures, TRANSFER_VERSION, type TransferMessage } from '../protocol/messages.js'
import { ServerMachine } from '../protocol/server-machine.js'
import { PassiveSession, type PassiveSessionConfig } from './passive-session.js'

/** Receives for the getter's messages: at most one of each kind is in flight, and there are Pings. */
const RECEIVES = 16

interface ServeSessionConfig extends PassiveSessionConfig {
  files: SharedFiles
}

export class ServeSession extends PassiveSession {
  protected readonly machine: ServerMachine
  protected readonly peerRole = 'getter'
  readonly #files: SharedFiles
  #source: FileSource | null = null
  #feed: FileFeed | null = null

  constructor(config: ServeSessionConfig) {
    super(config, RECEIVES, { cannot: 'read', being: 'served' })
    this.#files = config.files
    this.machine = new ServerMachine(config.rings.bytes)
  }

  get name(): string {
    return this.machine.request?.path ?? ''
  }

  get sizeBytes(): number {
    return this.#source?.size ?? 0
  }

  get deliveredBytes(): number {
    const { plan, creditedChunks } = this.machine
    return plan ? plan.bytesAfter(creditedChunks) : 0
  }

  get isBusy(): boolean {
    return this.machine.state === 'opening'
  }

  protected get granted(): boolean {
    return this.#feed !== null
  }

  protected get deliveredPath(): string {
    return this.machine.state === 'done' ? this.name : ''
  }

  protected override onMessage(now: Nanos, message: TransferMessage): void {
    super.onMessage(now, message)
    if (message.body !== 'ping' && !this.machine.ended) this.onProgress(now)
  }

  protected nextStep(): (() => Promise<void>) | null {
    if (this.machine.state === 'opening' && !this.#source) return () => this.#open()
    return this.#feed?.nextStep() ?? null
  }

  async #open(): Promise<void> {
    const { path, digest: kind, transfer } = this.machine.request!
    await this.succeedEarlier(transfer)
    if (this.machine.state !== 'opening') return
    await this.takePlace()
    if (this.machine.state !== 'opening') return
    const digest = createDigest(kind)
    const { machine, ring } = this
    const source = await this.#files.open(path)
    this.#source = source
    if (machine.state !== 'opening' || this.closed) return
    const { key: rkey, address, length: bytes } = this.registerRing(Access.REMOTE_READ)
    const onLoaded = () => this.advanceNow()
    const onFinished = (digest: Uint8Array) => this.#commit(digest)
    this.#feed = new FileFeed({ machine, source, digest, ring, onLoaded, onFinished })
    const { name, size, allocatedBytes, mode, mtimeMs } = source
    const file = {
      name,
      directory: '',
      size,
      allocatedBytes,
      mode,
      mtimeMs,
      overwrite: false,
      transfer: new Uint8Array(),
    }
    const offer = {
      version: TRANSFER_VERSION,
      ...file,
      digest: digest.kind,
      ring: { rkey, address, bytes },
      chunkDigests: true,
    }
    const now = this.time.now()
    machine.onOffered(size, DIGEST_BYTES[digest.kind])
    this.onProgress(now)
    this.channel.send(now, { body: 'offer', offer })
    this.time.wake()
  }

  /** One message for all chunks that have come into the ring; when one is on its way, the next follows it. */
  protected advance(now: Nanos): void {
    const again = this.machine.chunkToRepeat
    if (again >= 0) {
      this.channel.send(now, { body: 'again', again: { chunk: again % 2 ** 32 } })
      this.machine.onRepeated()
    }
    if (this.channel.busy || this.machine.chunkToPost < 0) return
    const path: SenderFigures = { ...this.connection!.stats }
    this.channel.send(now, { body: 'filled', filled: { chunks: this.machine.takeFilled(), path } })
  }

  #commit(digest: Uint8Array): void {
    if (this.closed) return
    this.channel.send(this.time.now(), { body: 'commit', commit: { digest } })
    this.time.wake()
  }

  protected async closeFile(): Promise<void> {
    await this.#source?.close()
  }
}
