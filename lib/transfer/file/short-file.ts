/** A short file of a tree: written, synced and given its name in one go. */
import fs, { constants, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { TreeEntry } from '../protocol/messages.js'
import { partialName } from '../protocol/names.js'
import { openPartial } from './arrivals.js'
import { OPEN_MODE } from './file-sink.js'
import { fileTime } from './file-time.js'
import type { Folder } from './folder.js'
import { checkIsThat, checkPlace, giveName, hasNoLinks, nameTaken } from './give-name.js'
import type { Haste } from './haste.js'
import { dataRuns } from './holes.js'
import type { QuickFolder } from './quick-folder.js'

const NEW_FILE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL

export async function writeShortFile(
  folder: Folder,
  entry: TreeEntry,
  bytes: Uint8Array,
  overwrite: boolean,
  haste: Haste,
): Promise<void> {
  const { quick } = folder
  if (quick !== null && haste.pays) await writeQuickly(quick, entry, bytes, overwrite, haste)
  else await writeWhole(folder, entry, bytes, overwrite)
}

async function writeQuickly(
  folder: QuickFolder,
  entry: TreeEntry,
  bytes: Uint8Array,
  overwrite: boolean,
  haste: Haste,
): Promise<void> {
  const partial = partialName(entry)
  let isOpen = false
  let fd = -1
  try {
    haste.run(() => {
      fd = openFreshQuickly(folder, partial)
      isOpen = true
      writeRuns(bytes, entry, (from, to) => fs.writeSync(fd, bytes, from, to - from, from))
      if (entry.allocatedBytes > 0) fs.ftruncateSync(fd, bytes.length)
      fs.fchmodSync(fd, entry.mode & 0o777)
      fs.futimesSync(fd, new Date(), fileTime(entry.mtimeMs))
    })
    await sync(fd)
    haste.run(() => {
      const file = fs.fstatSync(fd)
      giveNameQuickly(folder, partial, entry.name, overwrite)
      checkIsThat(folder.look(entry.name), entry.name, file)
      isOpen = false
      fs.closeSync(fd)
    })
  } catch (error) {
    try {
      folder.removeIfThere(partial)
    } catch {
      // The first failure says more.
    }
    if (isOpen) fs.closeSync(fd)
    throw error
  }
}

async function sync(fd: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    fs.fsync(fd, error => (error ? reject(error) : resolve()))
  })
}

/** A daemon that was killed may have left one; whoever opens it anew must own it. */
function openFreshQuickly(folder: QuickFolder, partial: string): number {
  try {
    return folder.open(partial, NEW_FILE, OPEN_MODE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  folder.removeIfThere(partial)
  return folder.open(partial, NEW_FILE, OPEN_MODE)
}

/** As `giveName` does. */
function giveNameQuickly(folder: QuickFolder, partial: string, name: string, overwrite: boolean): void {
  if (overwrite) {
    folder.rename(partial, name)
    return
  }
  try {
    folder.link(partial, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw nameTaken()
    if (!hasNoLinks(error)) throw error
    folder.rename(partial, name)
    return
  }
  folder.removeIfThere(partial)
}

async function writeWhole(
  folder: Folder,
  entry: TreeEntry,
  bytes: Uint8Array,
  overwrite: boolean,
): Promise<void> {
  const partial = partialName(entry)
  const handle = await openFresh(folder, partial)
  try {
    await writeBytes(handle, bytes, entry)
    await handle.chmod(entry.mode & 0o777)
    await handle.utimes(new Date(), fileTime(entry.mtimeMs))
    await handle.sync()
    const file: Stats = await handle.stat()
    await giveName(folder, partial, { name: entry.name, overwrite })
    await checkPlace(folder, entry.name, file)
  } catch (error) {
    await folder.removeIfThere(partial).catch(() => {})
    throw error
  } finally {
    await handle.close()
  }
}

/** A daemon that was killed may have left one. */
async function openFresh(folder: Folder, partial: string): Promise<FileHandle> {
  try {
    return await folder.openFile(partial, NEW_FILE, OPEN_MODE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  await folder.removeIfThere(partial)
  return await openPartial(folder, partial)
}

async function writeBytes(handle: FileHandle, bytes: Uint8Array, entry: TreeEntry): Promise<void> {
  for (const { from, to } of runsOf(bytes, entry)) {
    for (let at = from; at < to; ) at += (await handle.write(bytes, at, to - at, at)).bytesWritten
  }
  if (entry.allocatedBytes > 0) await handle.truncate(bytes.length)
}

/** @param write returns how many bytes it has written */
function writeRuns(bytes: Uint8Array, entry: TreeEntry, write: (from: number, to: number) => number): void {
  for (const { from, to } of runsOf(bytes, entry)) {
    for (let at = from; at < to; ) at += write(at, to)
  }
}

function runsOf(bytes: Uint8Array, { allocatedBytes }: TreeEntry): { from: number; to: number }[] {
  return allocatedBytes > 0 ? dataRuns(bytes, 0) : [{ from: 0, to: bytes.length }]
}
