/**
 * Where a tree goes. `choose` compares what is there with the list and says which files are wanted; `open` makes the sink for
 * their contents, one behind the other. A file with the same size and time is not wanted.
 */
import { constants } from 'node:fs'
import { join } from 'node:path'
import { sameDigest } from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import type { DigestKind, Offer, TreeEntry } from '../protocol/messages.js'
import { checkNotList, partialName } from '../protocol/names.js'
import { TreeLayout, WantedFiles } from '../protocol/tree-layout.js'
import type { TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { Breather } from './breather.js'
import { type DeletionRules, Deletions } from './deletions.js'
import type { FileSink, FileStore } from './file.js'
import { digestOf, kindOfDigest } from './file-digest.js'
import { isSameTime } from './file-time.js'
import type { Folder } from './folder.js'
import { Haste } from './haste.js'
import type { Looked } from './looked.js'
import { OpenFolders } from './open-folders.js'
import type { TreePlace } from './tree-place.js'
import { TreeSink } from './tree-sink.js'

/** A part of a shorter file is not worth to be looked for. */
const PART_BYTES_LEAST = 1 << 20

export class TreeStore implements FileStore {
  readonly #place: TreePlace
  readonly #list: TreeList
  readonly #overwrite: boolean
  readonly wanted: WantedFiles
  /** Folders that are not there, by number. */
  readonly #missing = new Set<number>()
  /** What would have to be replaced: a path, and how many there are. */
  #inTheWay = ''
  #inTheWayCount = 0
  #partBytes = 0
  /** Files that are there, but for their modes or times. */
  readonly #toTouch: number[] = []
  readonly #check: () => void
  readonly #rules: DeletionRules | null
  #sink: TreeSink | null = null
  readonly #haste = new Haste()
  readonly #breather = new Breather()
  /** What is to be deleted; null: nothing is. */
  deletions: Deletions | null = null

  /**
   * @param check throws when nobody needs the answer any more
   * @param rules of what is deleted; null: nothing is
   */
  constructor(
    place: TreePlace,
    list: TreeList,
    overwrite: boolean,
    check = () => {},
    rules: DeletionRules | null = null,
  ) {
    this.#check = check
    this.#rules = rules
    this.#place = place
    this.#list = list
    this.#overwrite = overwrite
    this.wanted = new WantedFiles(list.entries.length)
  }

  /** Finds out which files are wanted. Throws EXISTS if something would have to be replaced. */
  async choose(): Promise<void> {
    const root = await this.#enter(false)
    if (root === null) return this.#wantAll()
    const folders = new OpenFolders(root, this.#list, false)
    try {
      for (const number of this.#numbers('FOLDER')) await this.#lookAtFolder(folders, number)
      await forEachAtOnce(this.#numbers('FILE', 'SYMBOLIC_LINK', 'HARD_LINK'), async number => {
        await this.#lookAt(folders, number)
      })
      if (this.#rules !== null) await this.#findDeletions(root, folders, this.#rules)
    } finally {
      await folders.close()
    }
    this.#refuseReplacing()
  }

  async open(offer: Offer): Promise<FileSink> {
    const layout = new TreeLayout(this.#list, this.wanted)
    if (offer.size !== layout.bytes) {
      throw new TransferFailure(
        'PROTOCOL',
        `${offer.size} bytes of a tree are offered, ${layout.bytes} are wanted`,
      )
    }
    const { arrivals, shownPath } = this.#place
    const root = (await this.#enter(true))!
    const folders = new OpenFolders(root, this.#list, true)
    try {
      const free = await root.freeBytes()
      const needed = this.#diskBytes(layout)
      if (needed - this.#partBytes > free) {
        throw new TransferFailure('NO_SPACE', `${needed} bytes are needed, the disk has ${free} left`)
      }
      const { wanted } = this
      const deliveredPath = this.#deliveredPath()
      const config = {
        folders,
        layout,
        wanted,
        arrivals,
        shownPath,
        deliveredPath,
        overwrite: this.#overwrite,
        toTouch: this.#toTouch,
        deletions: this.deletions,
      }
      this.#sink = await TreeSink.open(config)
      return this.#sink
    } catch (error) {
      await folders.close()
      throw error
    }
  }

  async #findDeletions(root: Folder, folders: OpenFolders, rules: DeletionRules): Promise<void> {
    if (rules.inRoot && this.#place.isInbox(root)) {
      const text =
        'nothing is deleted right in the inbox, which others use too: name a folder in it, as in HOST:backup'
      throw new TransferFailure('NOT_ALLOWED', text)
    }
    const isThere = (number: number) => !this.#missing.has(number)
    this.deletions = await Deletions.find(this.#list, folders, rules, isThere, this.#check)
  }

  /** Each time it may be another folder: links can change meanwhile. */
  async #enter(makes: boolean): Promise<Folder | null> {
    const root = await this.#place.enter(makes)
    if (root === null || !this.#place.isInbox(root)) return root
    try {
      for (const { name, parent } of this.#list.entries) if (parent === 0) checkNotList(name)
      return root
    } catch (error) {
      await root.close()
      throw error
    }
  }

  /** True if parts of files were kept that no other transfer is to resume. */
  get hasKept(): boolean {
    return (this.#sink?.kept.length ?? 0) > 0
  }

  /** Removes those parts. What another transfer has by now stays. */
  async abandon(): Promise<void> {
    const root = this.hasKept ? await this.#enter(false) : null
    if (root === null) return
    const folders = new OpenFolders(root, this.#list, false)
    try {
      for (const number of this.#sink!.kept) await this.#removePart(folders, number)
    } finally {
      await folders.close()
    }
  }

  async #removePart(folders: OpenFolders, number: number): Promise<void> {
    const entry = this.#list.of(number)
    await folders.use(entry.parent, async folder => {
      const giveBack = this.#place.arrivals.take(join(folder.path, entry.name), this.#list.pathOf(number))
      await folder.removeIfThere(partialName(entry)).finally(giveBack)
    })
  }

  /** What the files take of the disk: those with holes less than their sizes. */
  #diskBytes({ order, list }: TreeLayout): number {
    let bytes = 0
    for (const number of order) {
      const { size, allocatedBytes } = list.of(number)
      bytes += Math.min(size, allocatedBytes || size)
    }
    return bytes
  }

  /** The path of the one thing that comes into the folder, or the folder if there are several. */
  #deliveredPath(): string {
    const { shownPath } = this.#place
    const tops = this.#list.entries.filter(({ parent }) => parent === 0)
    return (tops.length === 1 ? join(shownPath, tops[0]!.name) : shownPath) || '.'
  }

  #wantAll(): void {
    for (const number of this.#numbers('FILE')) this.wanted.add(number)
  }

  *#numbers(...kinds: string[]): Generator<number> {
    for (const [i, { kind }] of this.#list.entries.entries()) if (kinds.includes(kind)) yield i + 1
  }

  async #lookAtFolder(folders: OpenFolders, number: number): Promise<void> {
    const there = await this.#statOf(folders, number)
    if (there === null) this.#missing.add(number)
    else if (!there.isDirectory()) {
      const text = `${this.#list.pathOf(number)} is there and no folder`
      throw new TransferFailure('EXISTS', text)
    }
  }

  async #lookAt(folders: OpenFolders, number: number): Promise<void> {
    const entry = this.#list.of(number)
    const there = await this.#statOf(folders, number)
    if (there?.isDirectory()) {
      throw new TransferFailure('EXISTS', `${this.#list.pathOf(number)} is a folder there`)
    }
    if (entry.kind === 'FILE') await this.#lookAtFile(folders, number, there)
    else if (there !== null && !(await this.#isLinkOf(folders, entry, there))) this.#noteInTheWay(number)
  }

  async #lookAtFile(folders: OpenFolders, number: number, there: Looked | null): Promise<void> {
    const entry = this.#list.of(number)
    if (there !== null && (await this.#isUnchanged(folders, number, there))) {
      // A daemon that was killed as it gave the file its name may have left the temporary one beside it.
      if (there.nlink > 1) await removeSecondName(folders, entry, there)
      return
    }
    if (there !== null) this.#noteInTheWay(number)
    this.wanted.add(number)
    if (entry.size > PART_BYTES_LEAST) await this.#lookForPart(folders, number)
  }

  /** By the digest where the list has one, else by the time. */
  async #isUnchanged(folders: OpenFolders, number: number, there: Looked): Promise<boolean> {
    const entry = this.#list.of(number)
    const { digest, size } = entry
    if (digest === undefined || digest.length === 0) return isUnchanged(there, entry)
    if (!there.isFile() || there.size !== size) return false
    const kind = kindOfDigest(digest)
    if (kind === null) throw new TransferFailure('PROTOCOL', `a digest of ${digest.length} bytes`)
    const own = await folders.use(entry.parent, folder => this.#digestIn(folder, entry, kind))
    if (own === null || !sameDigest(own, digest)) return false
    if (this.#overwrite && !hasModeAndTime(there, entry)) this.#toTouch.push(number)
    return true
  }

  /** Null if it has another size by now. */
  async #digestIn(folder: Folder, { name, size }: TreeEntry, kind: DigestKind): Promise<Uint8Array | null> {
    const handle = await folder.openFile(name, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await handle.stat()
      return stat.isFile() && stat.size === size ? await digestOf(handle, size, kind, this.#check) : null
    } finally {
      await handle.close()
    }
  }

  /** The file of which most is there goes first: its part need not move. */
  async #lookForPart(folders: OpenFolders, number: number): Promise<void> {
    const entry = this.#list.of(number)
    if (this.#missing.has(entry.parent)) return
    const part = await folders.use(entry.parent, folder => folder.look(partialName(entry)))
    if (!part?.isFile() || part.size <= this.#partBytes) return
    this.#partBytes = Math.min(part.size, entry.size)
    this.wanted.first = number
  }

  async #isLinkOf(
    folders: OpenFolders,
    { kind, parent, name, target, sameAs }: TreeEntry,
    there: Looked,
  ): Promise<boolean> {
    if (kind === 'SYMBOLIC_LINK') {
      return there.isSymbolicLink() && (await folders.use(parent, folder => folder.readLink(name))) === target
    }
    const first = await this.#statOf(folders, sameAs)
    return first !== null && first.dev === there.dev && first.ino === there.ino
  }

  async #statOf(folders: OpenFolders, number: number): Promise<Looked | null> {
    const { parent, name } = this.#list.of(number)
    if (this.#missing.has(parent)) return null
    await this.#breather.breathe()
    return await folders.use(parent, async folder => this.#look(folder, name))
  }

  /** By a synchronous call while such calls pay. */
  #look(folder: Folder, name: string): Looked | null | Promise<Looked | null> {
    const { quick } = folder
    return quick === null || !this.#haste.pays ? folder.look(name) : this.#haste.run(() => quick.look(name))
  }

  #noteInTheWay(number: number): void {
    if (this.#inTheWayCount++ === 0) this.#inTheWay = this.#list.pathOf(number)
  }

  #refuseReplacing(): void {
    if (this.#overwrite || this.#inTheWayCount === 0) return
    const others = this.#inTheWayCount - 1
    const more = others === 0 ? '' : ` and ${others} other${others === 1 ? '' : 's'}`
    const text = `${this.#inTheWay}${more} would be replaced: --overwrite replaces what differs`
    throw new TransferFailure('EXISTS', text)
  }
}

function isUnchanged(there: Looked, entry: TreeEntry): boolean {
  return there.isFile() && there.size === entry.size && isSameTime(there, entry)
}

function hasModeAndTime(there: Looked, entry: TreeEntry): boolean {
  return isUnchanged(there, entry) && (there.mode & 0o777) === (entry.mode & 0o777)
}

async function removeSecondName(folders: OpenFolders, entry: TreeEntry, there: Looked): Promise<void> {
  await folders.use(entry.parent, async folder => {
    const partial = await folder.look(partialName(entry))
    if (partial && partial.dev === there.dev && partial.ino === there.ino)
      await folder.remove(partialName(entry))
  })
}
