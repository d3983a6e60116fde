/** Files and folders of this machine, listed to be sent. */
import { constants, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesOf, showBytes } from '../../byte-text.js'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { entriesOf, lstat, open, readlink, stat } from '../../fs-by-text.js'
import type { TreeEntry } from '../protocol/messages.js'
import { isPartialName } from '../protocol/names.js'
import { leadsOut, TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { allocatedBytesOf } from './file-source.js'

/** A file or folder that a user has named. */
export interface TreeRoot {
  /** Absolute. */
  path: string
  /** Name at the other end; '' = the contents of this folder alone. */
  name: string
}

interface WalkOptions {
  /** Ends the walk with WEIR_CANCELLED. */
  signal: AbortSignal
  /** Leaves symbolic links out that lead out of the tree. Without it they are an error. */
  skipsLinks: boolean
  /** Whether a file that was named, or a path below a folder that was named, is listed. Of a folder that is not, nothing is. */
  admits(path: string, isFolder: boolean): boolean
}

interface Found {
  name: string
  path: string
  stat: Stats
}

const NEVER = new AbortController().signal

export class LocalTree {
  readonly list = new TreeList()
  /** Sockets, pipes and devices, and links that were left out. */
  skipped = 0
  readonly #options: WalkOptions
  /** Absolute paths of entries in no folder of the list. */
  readonly #tops = new Map<number, string>()
  /** Numbers of files that have several names, by device and inode. */
  readonly #inodes = new Map<string, number>()

  /** Throws WEIR_NO_FILE for what cannot be read, and WEIR_CANCELLED. */
  static async walk(roots: readonly TreeRoot[], options: Partial<WalkOptions> = {}): Promise<LocalTree> {
    const tree = new LocalTree({ signal: NEVER, skipsLinks: false, admits: () => true, ...options })
    for (const root of roots) await tree.#addRoot(root)
    tree.list.close()
    tree.#inodes.clear()
    return tree
  }

  private constructor(options: WalkOptions) {
    this.#options = options
  }

  /** Opens the file of that number. A link that somebody has put in its place is not followed. */
  async openFile(number: number): Promise<FileHandle> {
    return await open(this.#pathOf(number), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  }

  #pathOf(number: number): string {
    const top = this.#tops.get(number)
    if (top !== undefined) return top
    const { parent, name } = this.list.of(number)
    return join(this.#pathOf(parent), name)
  }

  /** A link that the user has named is followed. */
  async #addRoot({ path, name }: TreeRoot): Promise<void> {
    const found = await readable(path, stat(path))
    if (name !== '') await this.#addNamed({ name, path, stat: found })
    else if (found.isDirectory()) await this.#addContents(path, 0, '', 0)
    else throw new WeirError('WEIR_NO_FILE', `${path} is no folder`)
  }

  /** Paths that are filtered begin below a folder that was named. */
  async #addNamed(found: Found): Promise<void> {
    if (found.stat.isDirectory()) await this.#add(found, 0, '', 0)
    else if (this.#options.admits(found.name, false)) await this.#add(found, 0, '', 0)
  }

  async #namesIn(path: string): Promise<string[]> {
    const names: string[] = []
    for await (const { name } of entriesOf(path)) {
      this.#checkGoesOn()
      names.push(name)
    }
    return names
  }

  #checkGoesOn(): void {
    if (this.#options.signal.aborted)
      throw new WeirError('WEIR_CANCELLED', 'the transfer was cancelled while its files were listed')
  }

  /** In the order of their names, so that the same tree is the same list. */
  async #addContents(path: string, parent: number, below: string, depth: number): Promise<void> {
    const found: Found[] = []
    const names = await readable(path, this.#namesIn(path))
    await forEachAtOnce(names, async name => {
      if (isPartialName(name)) return
      this.#checkGoesOn()
      const own = join(path, name)
      found.push({ name, path: own, stat: await readable(own, lstat(own)) })
    })
    found.sort((a, b) => Buffer.compare(bytesOf(a.name), bytesOf(b.name)))
    for (const one of found) {
      this.#checkGoesOn()
      const own = below + one.name
      if (!this.#options.admits(own, one.stat.isDirectory())) continue
      await this.#add(one, parent, `${own}/`, depth)
    }
  }

  /** @param inside what paths of things in it begin with */
  async #add({ name, path, stat }: Found, parent: number, inside: string, depth: number): Promise<void> {
    const entry = await this.#entryOf(name, path, stat, parent, depth)
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
  async #entryOf(
    name: string,
    path: string,
    stat: Stats,
    parent: number,
    depth: number,
  ): Promise<TreeEntry | null> {
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
      const target = await readable(path, readlink(path))
      if (this.#options.skipsLinks && leadsOut(target, depth)) return null
      return { ...same, kind: 'SYMBOLIC_LINK', mode: 0, target }
    }
    if (!stat.isFile()) return null
    const sameAs = stat.nlink > 1 ? (this.#inodes.get(`${stat.dev}:${stat.ino}`) ?? 0) : 0
    if (sameAs > 0) return { ...same, kind: 'HARD_LINK', sameAs }
    return { ...same, kind: 'FILE', size: stat.size, allocatedBytes: allocatedBytesOf(stat) }
  }
}

async function readable<T>(path: string, result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    throw new WeirError('WEIR_NO_FILE', `cannot read ${showBytes(path)}: ${whyNotRead(cause)}`, { cause })
  }
}
