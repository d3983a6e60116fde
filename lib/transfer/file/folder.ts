/**
 * A folder that is open. A name in it means what lies in this very folder, even if somebody puts something else in the place
 * of the folder's path: Linux resolves `/proc/self/fd/N/name` from the descriptor. Node.js has no openat.
 *
 * Where there is no /proc the path is used, after a look whether it still leads to the same device and inode.
 */
import { constants, existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import {
  chmod,
  type Entry,
  entriesOf,
  link,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  symlink,
  unlink,
} from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import { liesIn } from '../protocol/names.js'
import { type FileTime, setTimeAt, setTimeOfLink } from './file-time.js'
import { type Looked, lookedByNode } from './looked.js'
import { QuickFolder } from './quick-folder.js'

const DESCRIPTORS = '/proc/self/fd'
const hasDescriptors = existsSync(DESCRIPTORS)
/** Linux: a descriptor that stands for a place only, so the folder need not be readable. Node.js does not name the flag. */
const O_PATH = 0o10000000

/** To make and remove names in a folder. */
const OWNER_WRITES = 0o300

export class Folder {
  /** Real path, as it was when the folder was opened. */
  readonly path: string
  readonly #handle: FileHandle
  readonly #byDescriptor: boolean
  #quick: QuickFolder | null = null

  private constructor(path: string, handle: FileHandle, byDescriptor: boolean) {
    this.path = path
    this.#handle = handle
    this.#byDescriptor = byDescriptor
  }

  /** @param byDescriptor false: by path and inode, as without /proc. Throws what the system says */
  static async open(path: string, byDescriptor = hasDescriptors): Promise<Folder> {
    return await Folder.#opened(path, 0, byDescriptor)
  }

  static async #opened(path: string, flags: number, byDescriptor: boolean): Promise<Folder> {
    const directory = constants.O_DIRECTORY | flags
    const handle = await open(path, constants.O_RDONLY | directory).catch(error => {
      if (error.code !== 'EACCES' || !byDescriptor) throw error
      return open(path, O_PATH | directory)
    })
    try {
      const real = byDescriptor ? await readlink(`${DESCRIPTORS}/${handle.fd}`) : await realpath(path)
      return new Folder(real, handle, byDescriptor)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Its synchronous calls; null where names are not resolved from its descriptor. */
  get quick(): QuickFolder | null {
    if (!this.#byDescriptor) return null
    const { fd } = this.#handle
    this.#quick ??= new QuickFolder(fd, `${DESCRIPTORS}/${fd}`)
    return this.#quick
  }

  /** Opens the folder of that name in this one. A link is followed if it ends in `within`. Throws BAD_NAME. */
  async enter(name: string, within: string): Promise<Folder> {
    const folder = await Folder.#opened(await this.#at(name), 0, this.#byDescriptor)
    if (liesIn(within, folder.path)) return folder
    await folder.close()
    throw new TransferFailure('BAD_NAME', `"${name}" leads out of the inbox`)
  }

  /** Opens the folder of that name in this one; a link is refused. */
  async enterOwn(name: string): Promise<Folder> {
    return await Folder.#opened(await this.#at(name), constants.O_NOFOLLOW, this.#byDescriptor)
  }

  /** @param flags O_NOFOLLOW is added */
  async openFile(name: string, flags: number, mode?: number): Promise<FileHandle> {
    return await open(await this.#at(name), flags | constants.O_NOFOLLOW, mode)
  }

  /** Null if nothing has that name. Follows no link. */
  async look(name: string): Promise<Looked | null> {
    try {
      return lookedByNode(await lstat(await this.#at(name)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  async makeFolder(name: string): Promise<void> {
    await mkdir(await this.#at(name), 0o700)
  }

  /** Returns false if something has that name already. */
  async makeFolderIfMissing(name: string): Promise<boolean> {
    try {
      await this.makeFolder(name)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      return false
    }
  }

  async removeFolder(name: string): Promise<void> {
    await rmdir(await this.#at(name))
  }

  async remove(name: string): Promise<void> {
    await unlink(await this.#at(name))
  }

  /** Removes what has that name, if anything has. */
  async removeIfThere(name: string): Promise<void> {
    await this.remove(name).catch(error => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(await this.#at(from), await this.#at(to))
  }

  async link(from: string, to: string): Promise<void> {
    await link(await this.#at(from), await this.#at(to))
  }

  /** Gives the file `name` another name, in a folder that may be another one. */
  async linkInto(name: string, other: Folder, otherName: string): Promise<void> {
    await link(await this.#at(name), await other.#at(otherName))
  }

  async makeLink(name: string, target: string, time: FileTime): Promise<void> {
    await symlink(target, await this.#at(name))
    await setTimeOfLink(await this.#at(name), time)
  }

  /** What the symbolic link of that name says. */
  async readLink(name: string): Promise<string> {
    return await readlink(await this.#at(name))
  }

  /** This folder once more: it is closed by itself. */
  async again(): Promise<Folder> {
    return await this.enterOwn('.')
  }

  /** Its owner may make names in it from now on, whatever its mode was. */
  async makeWritable(): Promise<void> {
    const { mode } = await this.#handle.stat()
    if ((mode & OWNER_WRITES) !== OWNER_WRITES) await chmod(await this.#own(), (mode & 0o777) | OWNER_WRITES)
  }

  async setModeAndTime(mode: number, time: FileTime): Promise<void> {
    const own = await this.#own()
    await chmod(own, mode)
    await setTimeAt(own, time)
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(await this.#at('.'))
    return bavail * bsize
  }

  async *entries(): AsyncGenerator<Entry> {
    yield* entriesOf(await this.#at('.'))
  }

  /** New names survive a crash from now on. Some file systems cannot sync a folder; its files are safe there too. */
  async sync(): Promise<void> {
    await this.#handle.sync().catch(() => {})
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** For calls that refuse a descriptor which stands for a place only. */
  async #own(): Promise<string> {
    return this.#byDescriptor ? `${DESCRIPTORS}/${this.#handle.fd}` : await this.#at('.')
  }

  async #at(name: string): Promise<string> {
    if (this.#byDescriptor) return `${DESCRIPTORS}/${this.#handle.fd}/${name}`
    const [own, there] = [await this.#handle.stat(), await stat(this.path)]
    if (own.dev === there.dev && own.ino === there.ino) return join(this.path, name)
    throw new TransferFailure('IO_ERROR', `${this.path} was replaced while it was in use: try again`)
  }
}
