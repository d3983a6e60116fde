/** A file while it is received: a temporary name until everything is in and on the disk. */
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { WeirError } from '../errors.js'
import type { Identity } from './delivered.js'
import { TransferFailure } from './failure.js'
import type { FileSink } from './file.js'
import { readFully } from './file-source.js'
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
  #handle: FileHandle | null

  constructor(config: LocalSinkConfig) {
    this.resumeBytes = config.resumeBytes
    this.#config = config
    this.#handle = config.handle
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    const handle = this.#open()
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at)
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
    await this.#handle?.chmod(KEPT_MODE).catch(() => {})
    await this.#close()
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
