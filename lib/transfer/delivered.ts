/**
 * Files that were delivered recently, by the transfers that brought them. A sender may lose its connection before it
 * hears that its file is there; when it comes back it is told so, instead of that a file of that name exists.
 */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { WeirError } from '../errors.js'
import { open } from '../fs-by-text.js'
import { TransferFailure } from './failure.js'
import type { FileSink } from './file.js'
import { readFully } from './file-source.js'
import type { Offer } from './messages.js'

/** Files that are remembered; older ones are forgotten. */
const MOST = 64

/** What tells whether it is still the same file. */
export interface Identity {
  dev: number
  ino: number
  size: number
  mtimeMs: number
}

export class Delivered {
  readonly #files = new Map<string, Identity>()

  note(target: string, offer: Offer, file: Identity): void {
    if (offer.transfer.length === 0) return
    const key = keyOf(target, offer)
    this.#files.delete(key)
    this.#files.set(key, file)
    for (const oldest of this.#files.keys()) {
      if (this.#files.size <= MOST) break
      this.#files.delete(oldest)
    }
  }

  /** The file that an earlier attempt of the same transfer has delivered to `target`, if it is untouched; else null. */
  async find(target: string, offer: Offer): Promise<FileHandle | null> {
    const noted = this.#files.get(keyOf(target, offer))
    if (!noted || offer.transfer.length === 0) return null
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const handle = await open(target, flags).catch(() => null)
    if (!handle) return null
    const { dev, ino, size, mtimeMs } = await handle.stat()
    const isSame = dev === noted.dev && ino === noted.ino && size === noted.size && mtimeMs === noted.mtimeMs
    if (isSame && size === offer.size) return handle
    await handle.close()
    return null
  }
}

function keyOf(target: string, { transfer, size, mtimeMs }: Offer): string {
  return JSON.stringify([Buffer.from(transfer).toString('hex'), size, mtimeMs, target])
}

/** A file that is in its place already: all of it is there, its digest is still compared, and nothing is written. */
export class DeliveredSink implements FileSink {
  readonly resumeBytes: number
  readonly #shownPath: string
  readonly #release: () => void
  #handle: FileHandle | null

  /** @param handle open for reading; @param release called once, when the sink has ended */
  constructor(handle: FileHandle, bytes: number, shownPath: string, release: () => void) {
    this.resumeBytes = bytes
    this.#handle = handle
    this.#shownPath = shownPath
    this.#release = release
  }

  async write(): Promise<void> {
    throw new WeirError('WEIR_BAD_STATE', `${this.#shownPath} has been delivered already`)
  }

  async readBack(into: Uint8Array, position: number): Promise<void> {
    const tooShort = () => new TransferFailure('IO_ERROR', `${this.#shownPath} has become shorter`)
    await readFully(this.#handle!, into, position, tooShort)
  }

  async commit(): Promise<string> {
    await this.keep()
    return this.#shownPath
  }

  async keep(): Promise<void> {
    const handle = this.#handle
    if (!handle) return
    this.#handle = null
    this.#release()
    await handle.close()
  }

  /** It is not this attempt's to remove. */
  async discard(): Promise<void> {
    await this.keep()
  }
}
