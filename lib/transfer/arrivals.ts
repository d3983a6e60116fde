/** Opens the temporary files of transfers that come in: where they go has been decided, and one target is taken once. */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { lstat, open, statfs, unlink } from '../fs-by-text.js'
import { CHUNKS_UNDER_WAY_MAX } from './chunks-under-way.js'
import { Delivered, DeliveredSink, type Identity } from './delivered.js'
import { TransferFailure } from './failure.js'
import type { FileSink } from './file.js'
import { isKept, LocalSink, type LocalSinkConfig, markOpen, OPEN_MODE } from './file-sink.js'
import type { Offer } from './messages.js'
import { partialName } from './names.js'

export class Arrivals {
  /** Targets of transfers under way: two never share one. */
  readonly #busy = new Set<string>()
  readonly #delivered = new Delivered()
  readonly #unsureBytes: number

  /** @param chunkBytes of the transfers that write here. Default 1 MiB */
  constructor(chunkBytes = 1 << 20) {
    this.#unsureBytes = CHUNKS_UNDER_WAY_MAX * chunkBytes
  }

  /**
   * Opens the temporary file of `offer` in `folder`, a real path; its name has been checked. `shownPath` is
   * what users are told of it when it is delivered. Throws a TransferFailure, or an error of the system.
   */
  async open(folder: string, offer: Offer, shownPath: string): Promise<FileSink> {
    const target = join(folder, offer.name)
    if (this.#busy.has(target)) {
      const text = `${shownPath} is being received already: wait, or choose another name`
      throw new TransferFailure('BUSY', text)
    }
    this.#busy.add(target)
    const release = () => void this.#busy.delete(target)
    try {
      const there = await this.#delivered.find(target, offer)
      if (there) return new DeliveredSink(there, offer.size, shownPath, release)
      const onDelivered = (file: Identity) => this.#delivered.note(target, offer, file)
      const how = { folder, target, shownPath, offer, onDelivered, release }
      return await openSink(how, this.#unsureBytes)
    } catch (error) {
      release()
      throw error
    }
  }
}

/**
 * Chunks are written a few at a time, in any order. So the last `unsureBytes` of a file that nobody closed, because
 * its daemon was killed, may have holes: a transfer resumes before them. Holes that the file is to have do no harm there: they
 * lie before its end, which only grows as blocks are written, or they are not counted.
 */
async function openSink(
  how: Omit<LocalSinkConfig, 'partial' | 'handle' | 'resumeBytes'>,
  unsureBytes: number,
): Promise<FileSink> {
  const { folder, target, shownPath, offer } = how
  await checkTarget(target, shownPath, offer.overwrite)
  const partial = join(folder, partialName(offer))
  const handle = await openPartial(partial)
  let size = 0
  try {
    const stat = await handle.stat()
    size = stat.size
    const sureBytes = isKept(stat.mode) ? size : Math.max(0, size - unsureBytes)
    const resumeBytes = Math.min(sureBytes, offer.size)
    if (size > resumeBytes) await handle.truncate(resumeBytes)
    await checkSpace(folder, Math.min(offer.size - resumeBytes, offer.allocatedBytes || offer.size))
    await markOpen(handle)
    return new LocalSink({ ...how, partial, handle, resumeBytes })
  } catch (error) {
    if (size === 0) await unlink(partial)
    await handle.close()
    throw error
  }
}

async function checkTarget(target: string, shownPath: string, overwrite: boolean): Promise<void> {
  const there = await lstat(target).catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!there) return
  if (there.isDirectory()) throw new TransferFailure('EXISTS', `${shownPath} is a folder there`)
  if (!overwrite) {
    throw new TransferFailure('EXISTS', `${shownPath} is there already: --overwrite replaces it`)
  }
  // rename replaces the link itself, never what it leads to; but the owner put it there for a reason.
  if (!there.isFile()) throw new TransferFailure('EXISTS', `${shownPath} is there and no regular file`)
}

/**
 * Opens or creates the temporary file; a link, a second name or another kind of file is refused. One that
 * somebody else owns, who could read and change what is written, is replaced.
 */
async function openPartial(path: string): Promise<FileHandle> {
  const there = await openExisting(path)
  if (there) return there
  return await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, OPEN_MODE)
}

async function openExisting(path: string): Promise<FileHandle | null> {
  const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(path, flags).catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!handle) return null
  const stat = await handle.stat()
  const regular = stat.isFile() && stat.nlink === 1
  if (regular && stat.uid === (process.getuid?.() ?? stat.uid)) return handle
  await handle.close()
  if (!regular) {
    throw new TransferFailure('IO_ERROR', 'the temporary file is a link or not a regular file: remove it')
  }
  await unlink(path)
  return null
}

/** Refuses at once what cannot fit, instead of after an hour. */
async function checkSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (bytes > free) {
    throw new TransferFailure('NO_SPACE', `${bytes} bytes are needed, the disk has ${free} left`)
  }
}
