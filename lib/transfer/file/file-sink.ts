/** A file while it is received: a temporary name until everything is in and on the disk. */
import type { FileHandle } from 'node:fs/promises'
import { WeirError } from '../../errors.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import type { Identity } from './delivered-journal.js'
import type { FileSink } from './file.js'
import { readFully } from './file-source.js'
import { setTimeOf } from './file-time.js'
import type { Folder } from './folder.js'
import { checkPlace, giveName } from './give-name.js'
import { dataRuns } from './holes.js'

/** Mode of an unfinished file while it is written. */
export const OPEN_MODE = 0o600
/**
 * Mode of an unfinished file that was closed without holes: the simplest mark that survives a daemon that is killed.
 */
const KEPT_MODE = 0o700

/** True if an unfinished file has no holes. */
export function isKept(mode: number): boolean {
  return (mode & 0o777) === KEPT_MODE
}

/** From now on the file may have holes. Where modes mean nothing, the digest of its beginning has to show it. */
export async function markOpen(handle: FileHandle): Promise<void> {
  await handle.chmod(OPEN_MODE).catch(() => {})
}

export interface LocalSinkConfig {
  /** The folder of the file. */
  folder: Folder
  /** Path that users see. */
  shownPath: string
  /** Temporary name. */
  partial: string
  /** Open on the temporary name, for reading and writing. */
  handle: FileHandle
  offer: Offer
  resumeBytes: number
  /** Called when the file is whole and on the disk, before it gets its name. */
  onWhole: (file: Identity) => Promise<void>
  /** Called once, when the sink has ended. Closes the folder. */
  release: () => Promise<void>
}

export class LocalSink implements FileSink {
  readonly resumeBytes: number
  readonly #config: LocalSinkConfig
  /** The file had holes: blocks of zeros are not written. */
  readonly #isSparse: boolean
  /** Where the file ends, with what was not written. */
  #endBytes: number
  #handle: FileHandle | null

  constructor(config: LocalSinkConfig) {
    this.resumeBytes = config.resumeBytes
    this.#isSparse = (config.offer.allocatedBytes ?? 0) > 0
    this.#endBytes = config.resumeBytes
    this.#config = config
    this.#handle = config.handle
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    const end = position + bytes.length
    // Where something is already, zeros are written too.
    const mayHaveHoles = this.#isSparse && position >= this.resumeBytes
    const runs = mayHaveHoles ? dataRuns(bytes, position) : [{ from: 0, to: bytes.length }]
    for (const { from, to } of runs) await this.#writeRun(bytes, from, to, position)
    this.#endBytes = Math.max(this.#endBytes, end)
  }

  async #writeRun(bytes: Uint8Array, from: number, to: number, position: number): Promise<void> {
    const handle = this.#open()
    for (let at = from; at < to; ) {
      const { bytesWritten } = await handle.write(bytes, at, to - at, position + at)
      at += bytesWritten
    }
  }

  async readBack(into: Uint8Array, position: number): Promise<void> {
    const handle = this.#open()
    await this.#extend(handle)
    const tooShort = () => new TransferFailure('IO_ERROR', 'the unfinished file has become shorter')
    await readFully(handle, into, position, tooShort)
  }

  async commit(): Promise<string> {
    const { partial, offer, folder, shownPath, onWhole } = this.#config
    const handle = this.#open()
    await this.#extend(handle)
    await handle.chmod(offer.mode & 0o777)
    await setTimeOf(handle, offer.openEnd ? { mtimeMs: Date.now() } : offer)
    await handle.sync()
    const file = await handle.stat()
    await onWhole(file)
    await giveName(folder, partial, offer)
    await folder.sync()
    const there = await checkPlace(folder, offer.name, file)
    // By its new inode a sender that comes back finds it.
    if (there && there.ino !== file.ino) await onWhole(there)
    await this.#close()
    return shownPath
  }

  async keep(bytes = Number.POSITIVE_INFINITY): Promise<void> {
    const handle = this.#handle
    // A file that could not be extended or cut gets no mark: it counts as left by a daemon that was killed.
    if (handle)
      await this.#extend(handle)
        .then(() => cutTo(handle, bytes))
        .then(() => handle.chmod(KEPT_MODE))
        .catch(() => {})
    await this.#close()
  }

  /** A hole at the end is no byte yet: the file ends where it would if its zeros had been written. */
  async #extend(handle: FileHandle): Promise<void> {
    if (!this.#isSparse) return
    const { size } = await handle.stat()
    if (size < this.#endBytes) await handle.truncate(this.#endBytes)
  }

  async discard(): Promise<void> {
    if (!this.#handle) return
    await this.#config.folder.removeIfThere(this.#config.partial).finally(() => this.#close())
  }

  #open(): FileHandle {
    if (!this.#handle) throw new WeirError('WEIR_BAD_STATE', `${this.#config.partial} is closed`)
    return this.#handle
  }

  async #close(): Promise<void> {
    const handle = this.#handle
    if (!handle) return
    this.#handle = null
    await handle.close().finally(this.#config.release)
  }
}

async function cutTo(handle: FileHandle, bytes: number): Promise<void> {
  const { size } = await handle.stat()
  if (size > bytes) await handle.truncate(bytes)
}
