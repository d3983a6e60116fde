/**
 * Files that were delivered recently, by the transfers that brought them. A sender may lose its connection before it
 * learns that its file is there; when it comes back it learns so, and not that a file of that name exists.
 */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { TransferFailure } from '../protocol/failure.js'
import { type Offer, TRANSFER_NAME_BYTES_MAX } from '../protocol/messages.js'
import { DeliveredJournal, type Identity } from './delivered-journal.js'
import type { FileSink } from './file.js'
import { readFully } from './file-source.js'
import type { Folder } from './folder.js'

/** Files that are remembered; older ones are forgotten. */
const MOST = 64

export class Delivered {
  readonly #files = new Map<string, Identity>()
  #journal: DeliveredJournal | null = null

  /** Takes up what a daemon before has delivered, and keeps on the disk what follows. @param folder of the journal */
  async keepIn(folder: string): Promise<void> {
    this.#journal = new DeliveredJournal(folder)
    for (const [key, file] of await this.#journal.read()) this.#remember(key, file)
  }

  /**
   * Remembers a file. Call it before the file gets its name: `find` compares what is there, so a note of a file that never came to be
   * does no harm.
   */
  async note(target: string, offer: Offer, file: Identity): Promise<void> {
    if (!hasName(offer)) return
    const { dev, ino, size, mtimeMs } = file
    const key = keyOf(target, offer)
    const identity = { dev, ino, size, mtimeMs }
    this.#remember(key, identity)
    await this.#journal?.append([key, identity], () => this.#files)
  }

  /**
   * The file that an earlier attempt of the same transfer has delivered in `folder`, if it is untouched; else null. Throws EXISTS
   * if its mode forbids this user to read it, so that it cannot be compared; with `overwrite` it is moved again.
   */
  async find(folder: Folder, target: string, offer: Offer): Promise<FileHandle | null> {
    const noted = this.#files.get(keyOf(target, offer))
    if (!noted || !hasName(offer) || noted.size !== offer.size) return null
    const flags = constants.O_RDONLY | constants.O_NONBLOCK
    let handle: FileHandle
    try {
      handle = await folder.openFile(offer.name, flags)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES' || offer.overwrite) return null
      const there = await folder.look(offer.name)
      if (there && isSame(there, noted)) throw notToBeRead(offer, there.mode)
      return null
    }
    if (isSame(await handle.stat(), noted)) return handle
    await handle.close()
    return null
  }

  #remember(key: string, file: Identity): void {
    this.#files.delete(key)
    this.#files.set(key, file)
    for (const oldest of this.#files.keys()) {
      if (this.#files.size <= MOST) break
      this.#files.delete(oldest)
    }
  }
}

function isSame(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs
}

function notToBeRead({ name }: Offer, mode: number): TransferFailure {
  const octal = (mode & 0o777).toString(8).padStart(4, '0')
  const text = `${name} is there: an earlier attempt has delivered it whole. Its mode, ${octal}, forbids the daemon to read and compare it`
  return new TransferFailure('EXISTS', text)
}

function hasName({ transfer }: Offer): boolean {
  return transfer.length > 0 && transfer.length <= TRANSFER_NAME_BYTES_MAX
}

function keyOf(target: string, { transfer, size, mtimeMs }: Offer): string {
  return JSON.stringify([Buffer.from(transfer).toString('hex'), size, mtimeMs, target])
}

/** A file that is in its place already: all of it is there, its digest is still compared, and nothing is written. */
export class DeliveredSink implements FileSink {
  readonly resumeBytes: number
  readonly #shownPath: string
  readonly #release: () => Promise<void>
  #handle: FileHandle | null

  /** @param handle open for reading; @param release called once, when the sink has ended */
  constructor(handle: FileHandle, bytes: number, shownPath: string, release: () => Promise<void>) {
    this.resumeBytes = bytes
    this.#handle = handle
    this.#shownPath = shownPath
    this.#release = release
  }

  async write(): Promise<void> {
    const text = `${this.#shownPath} has been delivered already, and was changed since`
    throw new TransferFailure('PART_DIFFERS', text)
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
    await handle.close().finally(this.#release)
  }

  /** This attempt must not remove it. */
  async discard(): Promise<void> {
    await this.keep()
  }
}
