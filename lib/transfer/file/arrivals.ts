/** Opens the temporary files of incoming transfers. Their place has been decided; one transfer at a time has a target. */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import { partialName } from '../protocol/names.js'
import { CHUNKS_UNDER_WAY_MAX } from './chunks-under-way.js'
import { Delivered, DeliveredSink } from './delivered.js'
import type { Identity } from './delivered-journal.js'
import type { FileSink, FileUser } from './file.js'
import { isKept, LocalSink, type LocalSinkConfig, markOpen, OPEN_MODE } from './file-sink.js'
import type { Folder } from './folder.js'
import { Targets } from './targets.js'

export class Arrivals {
  readonly #targets = new Targets()
  readonly #delivered = new Delivered()
  readonly #unsureBytes: number
  #listFolder = ''

  /** @param chunkBytes of the transfers that write here. Default 1 MiB */
  constructor(chunkBytes = 1 << 20) {
    this.#unsureBytes = CHUNKS_UNDER_WAY_MAX * chunkBytes
  }

  /** Real path of the folder that has the list of deliveries; '' = none has. */
  get listFolder(): string {
    return this.#listFolder
  }

  /** Remembers deliveries over restarts, in that folder. */
  async keepIn(folder: string): Promise<void> {
    this.#listFolder = folder
    await this.#delivered.keepIn(folder)
  }

  /** Takes a target that is written at once. Returns what gives it back. Throws BUSY if a transfer has it. */
  take(target: string, shownPath: string): () => void {
    return this.#targets.take(target, shownPath, null)
  }

  /**
   * Opens the temporary file of `offer` in `folder`, which is closed with it, or now if this fails; its name has been checked.
   * `shownPath` is what users read of it when it is delivered. Throws a TransferFailure, or an error of the system. Where the
   * file is taken, that is BUSY: see `whenFree`.
   */
  async open(
    folder: Folder,
    offer: Offer,
    shownPath: string,
    user: FileUser | null = null,
  ): Promise<FileSink> {
    const target = join(folder.path, offer.name)
    let giveBack: () => void
    try {
      giveBack = this.#targets.take(target, shownPath, user)
    } catch (error) {
      await folder.close()
      throw error
    }
    const release = async () => {
      await folder.close().finally(giveBack)
    }
    try {
      const onWhole = (file: Identity) => this.#delivered.note(target, offer, file)
      await dropSecondName(folder, offer, onWhole)
      const there = await this.#delivered.find(folder, target, offer)
      if (there) return new DeliveredSink(there, offer.size, shownPath, release)
      return await openSink({ folder, shownPath, offer, onWhole, release }, this.#unsureBytes)
    } catch (error) {
      await release()
      throw error
    }
  }
}

/**
 * A daemon that was killed as it gave a file its name may have left the temporary name beside it. A file with the temporary
 * name and another one is never written to: the temporary name is removed. If the other name is the file's, the file has been delivered.
 */
async function dropSecondName(
  folder: Folder,
  offer: Offer,
  onWhole: (file: Identity) => Promise<void>,
): Promise<void> {
  const partial = partialName(offer)
  const left = await folder.look(partial)
  if (!left?.isFile() || left.nlink < 2) return
  const there = await folder.look(offer.name)
  if (there && there.dev === left.dev && there.ino === left.ino) await onWhole(there)
  await folder.removeIfThere(partial)
  await folder.sync()
}

/**
 * Chunks are written a few at a time, in any order. So the last `unsureBytes` of a file that nobody closed, because
 * its daemon was killed, may have holes: a transfer resumes before them. Holes that the file is to have do no
 * harm: they lie before its end, which only grows as blocks are written, or they are not counted.
 */
async function openSink(
  how: Omit<LocalSinkConfig, 'partial' | 'handle' | 'resumeBytes'>,
  unsureBytes: number,
): Promise<FileSink> {
  const { folder, shownPath, offer } = how
  await checkTarget(folder, offer, shownPath)
  const partial = partialName(offer)
  const handle = await openPartial(folder, partial)
  let size = 0
  try {
    const stat = await handle.stat()
    size = stat.size
    const sureBytes = isKept(stat.mode) ? size : Math.max(0, size - unsureBytes)
    // A file with an open end has the size 0 here: nothing of it is resumed.
    const resumeBytes = Math.min(sureBytes, offer.size)
    if (size > resumeBytes) await handle.truncate(resumeBytes)
    await checkSpace(folder, Math.min(offer.size - resumeBytes, offer.allocatedBytes || offer.size))
    await markOpen(handle)
    return new LocalSink({ ...how, partial, handle, resumeBytes })
  } catch (error) {
    if (size === 0) await folder.removeIfThere(partial).catch(() => {})
    await handle.close()
    throw error
  }
}

async function checkTarget(folder: Folder, offer: Offer, shownPath: string): Promise<void> {
  const there = await folder.look(offer.name)
  if (!there) return
  if (there.isDirectory()) throw new TransferFailure('EXISTS', `${shownPath} is a folder there`)
  if (!offer.overwrite) {
    throw new TransferFailure('EXISTS', `${shownPath} is there already: --overwrite replaces it`)
  }
  // rename replaces the link itself, never what it leads to; but the owner put it there for a reason.
  if (!there.isFile()) throw new TransferFailure('EXISTS', `${shownPath} is there and no regular file`)
}

/**
 * Opens or creates the temporary file; a link or another kind of file is refused. A file of another owner, who could
 * read and change what is written, is replaced. So is a file with its final mode, which forbids to open it: the daemon was
 * killed just before the file got its name.
 */
export async function openPartial(folder: Folder, name: string): Promise<FileHandle> {
  const there = await openExisting(folder, name)
  if (there) return there
  return await folder.openFile(name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, OPEN_MODE)
}

async function openExisting(folder: Folder, name: string): Promise<FileHandle | null> {
  let handle: FileHandle
  try {
    handle = await folder.openFile(name, constants.O_RDWR | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') await folder.remove(name)
    else if (code !== 'ENOENT') throw error
    return null
  }
  const stat = await handle.stat()
  const regular = stat.isFile() && stat.nlink === 1
  if (regular && stat.uid === (process.getuid?.() ?? stat.uid)) return handle
  await handle.close()
  if (!regular) {
    throw new TransferFailure('IO_ERROR', 'the temporary file is a link or not a regular file: remove it')
  }
  await folder.remove(name)
  return null
}

/** Refuses at once what cannot fit, instead of after an hour. */
async function checkSpace(folder: Folder, bytes: number): Promise<void> {
  const free = await folder.freeBytes()
  if (bytes > free) {
    throw new TransferFailure('NO_SPACE', `${bytes} bytes are needed, the disk has ${free} left`)
  }
}
