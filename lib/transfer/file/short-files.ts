/**
 * Short files of a tree: written, synced and given their names, a batch at a time. Each step is done for all files of a batch before the next one
 * begins. So the disk can sync them together, and packets have their turn between batches.
 */
import fs, { constants, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { stepFault } from '../fault-points.js'
import { TransferFailure } from '../protocol/failure.js'
import type { TreeEntry } from '../protocol/messages.js'
import { isPartialName, partialName } from '../protocol/names.js'
import { openPartial } from './arrivals.js'
import { forEachAtOnce, SHORT_FILES_AT_ONCE } from './at-once.js'
import { Breather } from './breather.js'
import { OPEN_MODE } from './file-sink.js'
import { setTimeOf, setTimeQuickly } from './file-time.js'
import type { Folder } from './folder.js'
import { checkIsThat, checkPlace, giveName } from './give-name.js'
import { FOR_SYNCS, Haste } from './haste.js'
import { dataRuns } from './holes.js'
import { type QuickFolder, QuickName } from './quick-folder.js'

const NEW_FILE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
/** For fewer files of a folder it is not worth to look at what is in it. */
const WORTH_A_LOOK = 16
/** A folder with more names is not looked at to its end. */
const NAMES_MAX = 20_000

/** A file with all its bytes. */
export interface ShortFile {
  readonly entry: TreeEntry
  readonly bytes: Uint8Array
}

export class ShortFiles {
  readonly #overwrite: boolean
  readonly #calls = new Haste()
  readonly #syncs = new Haste(FOR_SYNCS)
  readonly #breather = new Breather()
  /** Whether an earlier transfer may have left temporary names in a folder. */
  readonly #hasLeft = new WeakMap<Folder, boolean>()

  constructor(overwrite: boolean) {
    this.#overwrite = overwrite
  }

  /** Throws after nothing is written any more. @param shown what people read of a file */
  async write(
    folder: Folder,
    files: readonly ShortFile[],
    shown: (file: ShortFile) => string,
  ): Promise<void> {
    const mayBeUnnamed =
      !this.#overwrite && files.length >= WORTH_A_LOOK && !(await this.#mayHavePartials(folder))
    for (let at = 0; at < files.length; at += SHORT_FILES_AT_ONCE) {
      const some = files.slice(at, at + SHORT_FILES_AT_ONCE)
      const { quick } = folder
      if (quick !== null && this.#calls.pays) {
        const how = { overwrite: this.#overwrite, mayBeUnnamed, calls: this.#calls, shown }
        await new QuickBatch(quick, how).write(some, this.#syncs)
        await this.#breather.breathe()
      } else await forEachAtOnce(some, file => this.#writeOne(folder, file, shown), SHORT_FILES_AT_ONCE)
    }
  }

  /** What a daemon that was killed has left of these files goes when they are written by their temporary names. */
  async #mayHavePartials(folder: Folder): Promise<boolean> {
    let may = this.#hasLeft.get(folder)
    if (may === undefined) {
      may = await hasPartials(folder)
      this.#hasLeft.set(folder, may)
    }
    return may
  }

  async #writeOne(folder: Folder, file: ShortFile, shown: (file: ShortFile) => string): Promise<void> {
    try {
      await writeWhole(folder, file, this.#overwrite)
    } catch (error) {
      throw cannotCreate(error, shown(file))
    }
  }
}

/** True if a temporary name is in it, or more names than are looked at. */
async function hasPartials(folder: Folder): Promise<boolean> {
  let count = 0
  for await (const { name } of folder.entries()) {
    if (isPartialName(name) || ++count > NAMES_MAX) return true
  }
  return false
}

function cannotCreate(error: unknown, path: string): TransferFailure {
  return TransferFailure.from(error, `cannot create ${path}`)
}

/** A file that is open, with all its bytes. */
interface Begun extends ShortFile {
  /** Its temporary name; null: it has none. */
  readonly partial: QuickName | null
  readonly fd: number
}

interface QuickBatchHow {
  overwrite: boolean
  /** Files may get a name only when they are whole: then nothing is left of one that is not. */
  mayBeUnnamed: boolean
  calls: Haste
  shown: (file: ShortFile) => string
}

/** By synchronous calls, as far as the file system answers at once. */
class QuickBatch {
  readonly #folder: QuickFolder
  readonly #how: QuickBatchHow
  /** Files that are open. */
  readonly #begun: Begun[] = []

  constructor(folder: QuickFolder, how: QuickBatchHow) {
    this.#folder = folder
    this.#how = how
  }

  async write(files: readonly ShortFile[], syncs: Haste): Promise<void> {
    try {
      for (const file of files) this.#do(file, () => this.#begin(file))
      if (syncs.pays) for (const file of this.#begun) syncs.run(() => this.#sync(file))
      else await allOf(this.#begun.map(file => this.#syncSlowly(file)))
      for (let file = this.#begun[0]; file; file = this.#begun[0]) {
        const next = file
        this.#do(next, () => this.#name(next))
      }
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  #do(file: ShortFile, work: () => void): void {
    try {
      this.#how.calls.run(work)
    } catch (error) {
      throw cannotCreate(error, this.#how.shown(file))
    }
  }

  #begin(file: ShortFile): void {
    const fd = this.#how.mayBeUnnamed ? this.#folder.openUnnamed(OPEN_MODE) : -1
    if (fd < 0) this.#beginNamed(file)
    else this.#fill({ ...file, partial: null, fd })
  }

  #beginNamed(file: ShortFile): Begun {
    const partial = new QuickName(partialName(file.entry))
    return this.#fill({ ...file, partial, fd: openFreshQuickly(this.#folder, partial) })
  }

  #fill(begun: Begun): Begun {
    this.#begun.push(begun)
    const { entry, bytes, fd } = begun
    if (entry.allocatedBytes === 0) this.#folder.writeWhole(fd, bytes)
    else {
      writeRuns(bytes, entry, (from, to) => fs.writeSync(fd, bytes, from, to - from, from))
      fs.ftruncateSync(fd, bytes.length)
    }
    fs.fchmodSync(fd, entry.mode & 0o777)
    setTimeQuickly(fd, entry)
    return begun
  }

  #sync(file: Begun): void {
    try {
      fs.fsyncSync(file.fd)
    } catch (error) {
      throw cannotCreate(error, this.#how.shown(file))
    }
  }

  async #syncSlowly(file: Begun): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      fs.fsync(file.fd, error => (error ? reject(cannotCreate(error, this.#how.shown(file))) : resolve()))
    })
  }

  #name(file: Begun): void {
    const name = new QuickName(file.entry.name)
    stepFault('names file')
    if (file.partial === null) this.#nameUnnamed(file, name)
    else this.#rename(file.partial, name, file.fd)
    stepFault('named file')
    this.#begun.shift()
    this.#folder.close(file.fd)
  }

  /** Nobody can have put another file in its place: it had no place. */
  #nameUnnamed(file: Begun, name: QuickName): void {
    if (this.#folder.nameUnnamed(file.fd, name)) return
    // Once a folder: its file system has such files, and gives them no names.
    const { partial, fd } = this.#beginNamed(file)
    fs.fsyncSync(fd)
    this.#rename(partial!, name, fd)
    this.#begun.pop()
    this.#folder.close(fd)
  }

  #rename(partial: QuickName, name: QuickName, fd: number): void {
    this.#folder.giveName(partial, name, this.#how.overwrite)
    if (!this.#folder.isNameOf(name, fd))
      checkIsThat(this.#folder.look(name.text), name.text, fs.fstatSync(fd))
  }

  /** The first failure says more than those of this. */
  #undo(): void {
    for (const { partial, fd } of this.#begun) {
      try {
        if (partial !== null) this.#folder.removeIfThere(partial.text)
      } catch {}
      this.#folder.close(fd)
    }
    this.#begun.length = 0
  }
}

/** Throws the first failure, after none is under way any more. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** A daemon that was killed may have left one; whoever opens it anew must own it. */
function openFreshQuickly(folder: QuickFolder, partial: QuickName): number {
  try {
    return folder.open(partial, NEW_FILE, OPEN_MODE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  folder.removeIfThere(partial.text)
  return folder.open(partial, NEW_FILE, OPEN_MODE)
}

async function writeWhole(folder: Folder, { entry, bytes }: ShortFile, overwrite: boolean): Promise<void> {
  const partial = partialName(entry)
  const handle = await openFresh(folder, partial)
  try {
    await writeBytes(handle, bytes, entry)
    await handle.chmod(entry.mode & 0o777)
    await setTimeOf(handle, entry)
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
