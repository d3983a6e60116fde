/** Files and folders of this machine, listed to be sent. */
import fs, { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bytesOf, fsPath, showBytes, textOf } from '../../byte-text.js'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { exactStat, open } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import type { DigestKind, TreeEntry } from '../protocol/messages.js'
import { isPartialName } from '../protocol/names.js'
import { leadsOut, TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { Breather } from './breather.js'
import { addDigests } from './file-digest.js'
import { allocatedBytesOf } from './file-source.js'
import { Folder } from './folder.js'
import { Haste } from './haste.js'
import { type Looked, lookedByNode } from './looked.js'
import type { QuickFolder } from './quick-folder.js'

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
  stat: Looked
  /** What a symbolic link says. */
  target: string
}

/** So many entries are known before anything is said of them: what is wrong with a small tree is found before another host hears of it. */
const ENTRIES_FIRST = 256
/** A part of a list that is worth to be said. */
const GROWS_FOR_MS = 20

const IS_ASCII = /^[ -~]*$/

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
  readonly #haste = new Haste()
  /** Absolute paths of entries in no folder of the list. */
  readonly #tops = new Map<number, string>()
  /** The folder that was asked for last, and its path. */
  #lastFolder = 0
  #lastPath = ''
  /** Numbers of files that have several names, by device and inode. */
  readonly #inodes = new Map<string, number>()
  #isWhole = false
  #isStopped = false
  /** Resolves when the list is whole. */
  #walked: Promise<void> = Promise.resolve()
  /** The list is whole, or will never be. */
  readonly #ending = new AbortController()

  /** The whole list. Throws WEIR_NO_FILE for what cannot be read, and WEIR_CANCELLED. */
  static async walk(roots: readonly TreeRoot[], options: Partial<WalkOptions> = {}): Promise<LocalTree> {
    const tree = new LocalTree({ ...FOR_ITS_USER, ...options })
    await tree.#walk(roots)
    return tree
  }

  /**
   * The beginning of the list, or with digests all of it. It grows on until it is whole, or `stop` has been called. Throws the same; what is found
   * later, `more` throws.
   */
  static async begin(roots: readonly TreeRoot[], options: Partial<WalkOptions> = {}): Promise<LocalTree> {
    const tree = new LocalTree({ ...FOR_ITS_USER, ...options })
    tree.#walked = tree.#walk(roots).finally(() => tree.#ending.abort())
    tree.#walked.catch(() => {})
    if (options.checksum) await tree.#walked
    else while (!tree.isWhole && tree.list.entries.length < ENTRIES_FIRST) await tree.more()
    return tree
  }

  private constructor(options: WalkOptions) {
    this.#options = options
  }

  /** Nothing is added to the list any more. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Resolves when the list has grown, or some time has passed. Throws what has ended it before it was whole. */
  async more(): Promise<void> {
    const { signal } = this.#ending
    // Promise.race would keep something of each call until the list is whole.
    await sleep(GROWS_FOR_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) await this.#walked
  }

  /** Nobody needs the list any more. */
  stop(): void {
    this.#isStopped = true
  }

  async #walk(roots: readonly TreeRoot[]): Promise<void> {
    for (const root of roots) await this.#addRoot(root)
    const { checksum } = this.#options
    if (checksum !== null) await addDigests(this, checksum, () => this.#checkGoesOn())
    this.list.close()
    this.#inodes.clear()
    this.#isWhole = true
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
    if (parent !== this.#lastFolder) {
      this.#lastPath = this.#pathOf(parent)
      this.#lastFolder = parent
    }
    return `${this.#lastPath}/${name}`
  }

  /** A link that the user has named is followed. */
  async #addRoot({ path, name }: TreeRoot): Promise<void> {
    const found = await lookedByNode(await this.#readable(path, exactStat(path)))
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
      const lookAt = async (name: string, quickly: Looked | null = null) => {
        this.#checkGoesOn()
        const own = join(path, name)
        const stat = quickly ?? (await this.#readable(own, folder.look(name)))
        // Somebody has removed it since.
        if (stat === null) return
        const target = stat.isSymbolicLink() ? await this.#readable(own, folder.readLink(name)) : ''
        found.push({ name, path: own, stat, target })
      }
      const { quick } = folder
      const left = quick === null ? names : await this.#lookQuickly(quick, names, lookAt)
      await forEachAtOnce(left, name => lookAt(name))
      return found
    } finally {
      await folder.close()
    }
  }

  /** By synchronous calls while these pay. Returns the names that are left. */
  async #lookQuickly(
    folder: QuickFolder,
    names: readonly string[],
    take: (name: string, stat: Looked | null) => Promise<void>,
  ): Promise<readonly string[]> {
    for (const [i, name] of names.entries()) {
      if (!this.#haste.pays) return names.slice(i)
      if (this.#breather.isDue) await this.#breather.breathe()
      // What cannot be looked at is looked at once more, by the calls that say why.
      const stat = this.#haste.run(() => folder.lookIfAllowed(name))
      await take(name, stat)
    }
    return []
  }

  async #namesIn(folder: Folder): Promise<string[]> {
    const names: string[] = []
    const take = (name: string) => {
      this.#checkGoesOn()
      if (!isPartialName(name)) names.push(name)
    }
    if (folder.quick === null || !this.#haste.pays) {
      for await (const { name } of folder.entries()) take(name)
      return names
    }
    for (const name of folder.quick.names()) {
      take(name)
      if (this.#breather.isDue) await this.#breather.breathe()
    }
    return names
  }

  #checkGoesOn(): void {
    if (this.#options.signal.aborted || this.#isStopped)
      throw new WeirError('WEIR_CANCELLED', 'the transfer was cancelled while its files were listed')
  }

  /** In the order of their names, so that the same tree is the same list. */
  async #addContents(path: string, parent: number, below: string, depth: number): Promise<void> {
    const found = await this.#lookInto(path)
    found.sort(found.every(({ name }) => IS_ASCII.test(name)) ? byText : byBytes)
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
    const entry = entryNamed(name, parent, stat)
    if (stat.isDirectory()) entry.kind = 'FOLDER'
    else if (stat.isSymbolicLink()) {
      if (this.#options.skipsLinks && leadsOut(target, depth)) return null
      entry.kind = 'SYMBOLIC_LINK'
      entry.mode = 0
      entry.target = target
    } else if (stat.isFile()) this.#noteFile(entry, stat)
    else return null
    return entry
  }

  #noteFile(entry: TreeEntry, stat: Looked): void {
    entry.sameAs = stat.nlink > 1 ? (this.#inodes.get(`${stat.dev}:${stat.ino}`) ?? 0) : 0
    if (entry.sameAs > 0) {
      entry.kind = 'HARD_LINK'
      return
    }
    entry.size = stat.size
    entry.allocatedBytes = allocatedBytesOf(stat)
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

/** The same order as that of the bytes, if all are ASCII. */
function byText(a: Found, b: Found): number {
  return a.name < b.name ? -1 : 1
}

function byBytes(a: Found, b: Found): number {
  return Buffer.compare(bytesOf(a.name), bytesOf(b.name))
}

/** Why a list has ended, in the words of the protocol. */
export function listFailure(error: unknown): TransferFailure {
  if (error instanceof TransferFailure) return error
  if (!(error instanceof WeirError)) return TransferFailure.from(error, 'cannot list it')
  if (error.code === 'WEIR_CANCELLED') return new TransferFailure('CANCELLED', error.message)
  return new TransferFailure(error.code === 'WEIR_NO_FILE' ? 'NOT_FOUND' : 'BAD_NAME', error.message)
}

/** All entries have the same fields in the same order: there are as many as files. */
function entryNamed(name: string, parent: number, stat: Looked): TreeEntry {
  const mode = stat.mode & 0o777
  const { mtimeMs, mtimeNanos } = stat
  return {
    name,
    parent,
    kind: 'FILE',
    mode,
    mtimeMs,
    mtimeNanos,
    size: 0,
    allocatedBytes: 0,
    target: '',
    sameAs: 0,
  }
}

function realPathOf(fd: number, path: string): string {
  try {
    return textOf(fs.readlinkSync(`/proc/self/fd/${fd}`, 'buffer'))
  } catch {
    return textOf(fs.realpathSync(fsPath(path), 'buffer'))
  }
}
