/** A file while it is received: a temporary name until everything is in and on the disk. */
import type { FileHandle } from 'node:fs/promises'
import { WeirError } from '../errors.js'
import { link, open, rename, unlink } from '../fs-by-text.js'
import type { Identity } from './delivered.js'
import { TransferFailure } from './failure.js'
import type { FileSink } from './file.js'
import { readFully } from './file-source.js'
import { dataRuns } from './holes.js'
import type { Offer } from './messages.js'

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

/** From now on the file may have holes. Where modes mean nothing, the digest of its beginning has to tell. */
export async function markOpen(handle: FileHandle): Promise<void> {
  await handle.chmod(OPEN_MODE).catch(() => {})
}

export interface LocalSinkConfig {
  /** Real path of the folder of the file. */
  folder: string
  /** Final path. */
  target: string
  /** Path that users are told. */
  shownPath: string
  /** Temporary path. */
  partial: string
  /** Open on the temporary path, for reading and writing. */
  handle: FileHandle
  offer: Offer
  resumeBytes: number
  /** Called when the file is in its place. */
  onDelivered: (file: Identity) => void
  /** Called once, when the sink has ended. */
  release: () => void
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
    const runs = this.#isSparse ? dataRuns(bytes, position) : [{ from: 0, to: bytes.length }]
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
    const tooShort = () => new TransferFailure('IO_ERROR', 'the unfinished file has become shorter')
    await readFully(this.#open(), into, position, tooShort)
  }

  async commit(): Promise<string> {
    const { target, partial, offer, folder, shownPath, onDelivered } = this.#config
    const handle = this.#open()
    await this.#extend(handle)
    await handle.chmod(offer.mode & 0o777)
    await handle.utimes(new Date(), offer.mtimeMs / 1000)
    await handle.sync()
    const file = await handle.stat()
    if (offer.overwrite) await rename(partial, target)
    else await renameWithoutReplacing(partial, target)
    onDelivered(file)
    await this.#close()
    await syncFolder(folder)
    return shownPath
  }

  async keep(): Promise<void> {
    const handle = this.#handle
    // What could not be extended is not marked: it counts as left by a daemon that was killed.
    if (handle)
      await this.#extend(handle)
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
    await unlink(this.#config.partial).catch(ignoreMissing)
    await this.#close()
  }

  #open(): FileHandle {
    if (!this.#handle) throw new WeirError('WEIR_BAD_STATE', `${this.#config.partial} is closed`)
    return this.#handle
  }

  async #close(): Promise<void> {
    const handle = this.#handle
    if (!handle) return
    this.#handle = null
    this.#config.release()
    await handle.close()
  }
}

/** link + unlink: unlike rename, it fails when somebody has made the target in the meantime. */
async function renameWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw new TransferFailure(
        'EXISTS',
        'a file of that name has appeared meanwhile: --overwrite replaces it',
      )
    }
    // File systems without hard links: there the check at the offer is all there is.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS' && code !== 'EMLINK') throw error
    await rename(from, to)
    return
  }
  await unlink(from)
}

/** The new name must survive a crash too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } catch {
    // Some file systems cannot sync a folder; the file itself is safe.
  } finally {
    await handle.close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
