/** Files and folders of this machine, listed to be sent. */
import fs, { constants, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesOf, fsPath, showBytes, textOf } from '../../byte-text.js'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { open, stat } from '../../fs-by-text.js'
import type { DigestKind, TreeEntry } from '../protocol/messages.js'
import { isPartialName } from '../protocol/names.js'
import { leadsOut, TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { Breather } from './breather.js'
import { addDigests } from './file-digest.js'
import { allocatedBytesOf } from './file-source.js'
import { Folder } from './folder.js'

/** A file or folder that a user has named. */
export interface TreeRoot {
  /** Absolute. */
  path: string
  /** Name at the other end; '' = the contents of this folder alone. */
  name: string
}

interface WalkOptions {
  /** Ends the walk with WEIR_CANCELLED. */
  signal: Pick<AbortSignal, 'aborted'>
  /** Throws unless a folder or file that lies there, by its real path, may be read. It is open then, so nobody can put another in its place. */
  checkReal: ((path: string) => void) | null
  /** A path as whoever asked for the tree reads it. */
  shown(path: string): string
  /** Leaves symbolic links out that lead out of the tree. Without it they are an error. */
  skipsLinks: boolean
  /** Files are listed with digests of that kind; null: without. */
  checksum: DigestKind | null
  /** Whether a file that was named, or a path below a folder that was named, is listed. Of a folder that is not, nothing is. */
  admits(path: string, isFolder: boolean): boolean
}

interface Found {
  name: string
  path: string
  stat: Stats
  /** What a symbolic link says. */
  target: string
}

const READ_NO_LINK = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

const FOR_ITS_USER: WalkOptions = {
  signal: new AbortController().signal,
  checkReal: null,
  shown: path => path,
  skipsLinks: false,
  checksum: null,
  admits: () => true,
}

export class LocalTree {
  readonly list = new TreeList()
  /** Sockets, pipes and devices, and links that were left out. */
  skipped = 0
  readonly #options: WalkOptions
  /** Globs that admit nothing cost time and have nothing to wait for. */
  readonly #breather = new Breather()
  /** Absolute paths of entries in no folder of the list. */
  readonly #tops = new Map<number, string>()
  /** Numbers of files that have several names, by device and inode. */
  readonly #inodes = new Map<string, number>()

  /** Throws WEIR_NO_FILE for what cannot be read, and WEIR_CANCELLED. */
  static async walk(roots: readonly TreeRoot[], options: Partial<WalkOptions> = {}): Promise<LocalTree> {
    const tree = new LocalTree({ ...FOR_ITS_USER, ...options })
    for (const root of roots) await tree.#addRoot(root)
    const { checksum = null } = options
    if (checksum !== null) await addDigests(tree, checksum, () => tree.#checkGoesOn())
    tree.list.close()
    tree.#inodes.clear()
    return tree
  }

  private constructor(options: WalkOptions) {
    this.#options = options
  }

  /** Opens the file of that number. A link that somebody has put in its place is not followed. */
  async openFile(number: number): Promise<FileHandle> {
    const handle = await open(this.#pathOf(number), READ_NO_LINK)
    try {
      this.#checkOpen(number, handle.fd)
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  openQuickly(number: number): number {
    const fd = fs.openSync(fsPath(this.#pathOf(number)), READ_NO_LINK)
    try {
      this.#checkOpen(number, fd)
      return fd
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
  }

  /** The kernel says where the file lies that is open; elsewhere its path is followed again. */
  #checkOpen(number: number, fd: number): void {
    const { checkReal } = this.#options
    if (checkReal !== null) checkReal(realPathOf(fd, this.#pathOf(number)))
  }

  #pathOf(number: number): string {
    const top = this.#tops.get(number)
    if (top !== undefined) return top
    const { parent, name } = this.list.of(number)
    return join(this.#pathOf(parent), name)
  }

  /** A link that the user has named is followed. */
  async #addRoot({ path, name }: TreeRoot): Promise<void> {
    const found = await this.#readable(path, stat(path))
    if (name !== '') await this.#addNamed({ name, path, stat: found, target: '' })
    else if (found.isDirectory()) await this.#addContents(path, 0, '', 0)
    else throw new WeirError('WEIR_NO_FILE', `${this.#options.shown(path)} is no folder`)
  }

  /** Paths that are filtered begin below a folder that was named. */
  async #addNamed(found: Found): Promise<void> {
    if (found.stat.isDirectory()) await this.#add(found, 0, '', 0)
    else if (this.#options.admits(found.name, false)) await this.#add(found, 0, '', 0)
  }

  /** What is in the folder, in no order. It is looked at from its descriptor. */
  async #lookInto(path: string): Promise<Found[]> {
    const folder = await this.#readable(path, Folder.open(path))
    try {
      this.#options.checkReal?.(folder.path)
      const found: Found[] = []
      const names = await this.#readable(path, this.#namesIn(folder))
      await forEachAtOnce(names, async name => {
        this.#checkGoesOn()
        const own = join(path, name)
        const stat = await this.#readable(own, folder.look(name))
        // Somebody has removed it since.
        if (stat === null) return
        const target = stat.isSymbolicLink() ? await this.#readable(own, folder.readLink(name)) : ''
        found.push({ name, path: own, stat, target })
      })
      return found
    } finally {
      await folder.close()
    }
  }

  async #namesIn(folder: Folder): Promise<string[]> {
    const names: string[] = []
    for await (const { name } of folder.entries()) {
      this.#checkGoesOn()
      if (!isPartialName(name)) names.push(name)
    }
    return names
  }

  #checkGoesOn(): void {
    if (this.#options.signal.aborted)
      throw new WeirError('WEIR_CANCELLED', 'the transfer was cancelled while its files were listed')
  }

  /** In the order of their names, so that the same tree is the same list. */
  async #addContents(path: string, parent: number, below: string, depth: number): Promise<void> {
    const found = await this.#lookInto(path)
    found.sort((a, b) => Buffer.compare(bytesOf(a.name), bytesOf(b.name)))
    for (const one of found) {
      this.#checkGoesOn()
      await this.#breather.breathe()
      const own = below + one.name
      if (!this.#options.admits(own, one.stat.isDirectory())) continue
      await this.#add(one, parent, `${own}/`, depth)
    }
  }

  /** @param inside what paths of things in it begin with */
  async #add(found: Found, parent: number, inside: string, depth: number): Promise<void> {
    const { path, stat } = found
    const entry = this.#entryOf(found, parent, depth)
    if (entry === null) {
      this.skipped++
      return
    }
    const number = this.list.add(entry)
    if (parent === 0) this.#tops.set(number, path)
    if (entry.kind === 'FILE' && stat.nlink > 1) this.#inodes.set(`${stat.dev}:${stat.ino}`, number)
    if (entry.kind === 'FOLDER') await this.#addContents(path, number, inside, depth + 1)
  }

  /** Null for what is left out. */
  #entryOf({ name, stat, target }: Found, parent: number, depth: number): TreeEntry | null {
    const mode = stat.mode & 0o777
    const same = {
      name,
      parent,
      mode,
      mtimeMs: stat.mtimeMs,
      size: 0,
      allocatedBytes: 0,
      target: '',
      sameAs: 0,
    }
    if (stat.isDirectory()) return { ...same, kind: 'FOLDER' }
    if (stat.isSymbolicLink()) {
      if (this.#options.skipsLinks && leadsOut(target, depth)) return null
      return { ...same, kind: 'SYMBOLIC_LINK', mode: 0, target }
    }
    if (!stat.isFile()) return null
    const sameAs = stat.nlink > 1 ? (this.#inodes.get(`${stat.dev}:${stat.ino}`) ?? 0) : 0
    if (sameAs > 0) return { ...same, kind: 'HARD_LINK', sameAs }
    return { ...same, kind: 'FILE', size: stat.size, allocatedBytes: allocatedBytesOf(stat) }
  }

  async #readable<T>(path: string, result: Promise<T>): Promise<T> {
    try {
      return await result
    } catch (cause) {
      if (cause instanceof WeirError) throw cause
      const text = `cannot read ${showBytes(this.#options.shown(path))}: ${whyNotRead(cause)}`
      throw new WeirError('WEIR_NO_FILE', text, { cause })
    }
  }
}

function realPathOf(fd: number, path: string): string {
  try {
    return textOf(fs.readlinkSync(`/proc/self/fd/${fd}`, 'buffer'))
  } catch {
    return textOf(fs.realpathSync(fsPath(path), 'buffer'))
  }
}
