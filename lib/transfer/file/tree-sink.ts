/**
 * The files of a tree while they are received, one behind the other. A short file is written, synced and given its name at once; a
 * long one, of which several chunks carry parts, is a sink of its own (arrivals.ts). Folders are synced, and get their modes and
 * times, at the end.
 */
import { join } from 'node:path'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer, TreeEntry } from '../protocol/messages.js'
import type { Piece, TreeLayout, WantedFiles } from '../protocol/tree-layout.js'
import type { Arrivals } from './arrivals.js'
import { forEachAtOnce } from './at-once.js'
import type { Deletions } from './deletions.js'
import type { FileSink } from './file.js'
import type { OpenFolders } from './open-folders.js'
import { type ShortFile, ShortFiles } from './short-files.js'
import { makeLinks, settleFolders, touchFiles } from './tree-ends.js'

/** A file of the list with all its bytes. */
interface NumberedFile {
  readonly number: number
  readonly bytes: Uint8Array
}

interface TreeSinkConfig {
  folders: OpenFolders
  layout: TreeLayout
  wanted: WantedFiles
  arrivals: Arrivals
  /** Path of the folder that users see. */
  shownPath: string
  /** What users read when all is there. */
  deliveredPath: string
  overwrite: boolean
  /** Files that are there, and get mode and time alone. */
  toTouch: readonly number[]
  /** What goes when all else is there; null: nothing does. */
  deletions: Deletions | null
}

/** A file of which parts come. */
interface LongFile {
  readonly sink: Promise<FileSink>
  /** Parts that have come and are not written yet. */
  pending: number
  /** Its last part has come; those before have, too. */
  hasEnd: boolean
}

export class TreeSink implements FileSink {
  readonly #config: TreeSinkConfig
  readonly #long = new Map<number, LongFile>()
  readonly #short: ShortFiles
  #resumeBytes = 0
  #isClosed = false
  /** Numbers of files of which a part was kept. */
  readonly kept: number[] = []

  static async open(config: TreeSinkConfig): Promise<TreeSink> {
    const sink = new TreeSink(config)
    const { first } = config.wanted
    if (first > 0) {
      const { resumeBytes } = await sink.#longFile(first).sink
      // The last part always comes, so that the file is known to be whole.
      sink.#resumeBytes = Math.min(resumeBytes, config.layout.list.of(first).size - 1)
    }
    return sink
  }

  private constructor(config: TreeSinkConfig) {
    this.#config = config
    this.#short = new ShortFiles(config.overwrite)
  }

  get resumeBytes(): number {
    return this.#resumeBytes
  }

  /** Call in the order of positions. */
  async write(bytes: Uint8Array, position: number): Promise<void> {
    const { layout } = this.#config
    const pieces = layout.piecesOf(position, bytes.length)
    // All parts are noted before anything is written, so that a long file is known to be whole only when each of them is in.
    for (const piece of pieces) if (this.#isPart(piece)) this.#noteComing(piece)
    const bytesOf = ({ at, length }: Piece) => bytes.subarray(at, at + length)
    const parts = pieces.filter(piece => this.#isPart(piece))
    const whole = pieces.filter(piece => !this.#isPart(piece))
    await forEachAtOnce(parts, piece => this.#writePart(piece, bytesOf(piece)))
    await this.#writeShort(whole.map(piece => ({ number: piece.number, bytes: bytesOf(piece) })))
  }

  async readBack(into: Uint8Array, position: number): Promise<void> {
    for (const { number, offset, at, length } of this.#config.layout.piecesOf(position, into.length)) {
      const sink = await this.#longFile(number).sink
      await sink.readBack(into.subarray(at, at + length), offset)
    }
  }

  async commit(): Promise<string> {
    const { layout, folders, overwrite, deliveredPath } = this.#config
    const empty = layout.order.filter(number => layout.list.of(number).size === 0)
    await this.#writeShort(empty.map(number => ({ number, bytes: new Uint8Array() })))
    await makeLinks(layout.list, folders, overwrite)
    await touchFiles(layout.list, folders, this.#config.toTouch)
    await this.#config.deletions?.remove(folders)
    await settleFolders(layout.list, folders)
    await this.#close()
    return deliveredPath
  }

  async keep(bytes = Number.POSITIVE_INFINITY): Promise<void> {
    const { layout } = this.#config
    for (const [number, { sink }] of this.#long) {
      const begin = layout.beginOf(number)
      await sink.then(open => open.keep(Math.max(0, bytes - begin))).catch(() => {})
      this.kept.push(number)
    }
    await this.#close()
  }

  /** Files that have their names stay. */
  async discard(): Promise<void> {
    for (const { sink } of this.#long.values()) await sink.then(open => open.discard()).catch(() => {})
    await this.#close()
  }

  async #close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#long.clear()
    await this.#config.folders.close()
  }

  #isPart({ number, length }: Piece): boolean {
    return length < this.#config.layout.list.of(number).size || this.#long.has(number)
  }

  #noteComing({ number, offset, length }: Piece): void {
    const file = this.#longFile(number)
    file.pending++
    if (offset + length === this.#config.layout.list.of(number).size) file.hasEnd = true
  }

  async #writePart({ number, offset }: Piece, bytes: Uint8Array): Promise<void> {
    const file = this.#longFile(number)
    const sink = await file.sink
    await sink.write(bytes, offset)
    file.pending--
    if (!file.hasEnd || file.pending > 0) return
    await sink.commit()
    this.#long.delete(number)
  }

  #longFile(number: number): LongFile {
    const there = this.#long.get(number)
    if (there) return there
    const file: LongFile = { sink: this.#openLong(number), pending: 0, hasEnd: false }
    file.sink.catch(() => {})
    this.#long.set(number, file)
    return file
  }

  async #openLong(number: number): Promise<FileSink> {
    const { folders, layout, arrivals, overwrite } = this.#config
    const entry = layout.list.of(number)
    const folder = await folders.use(entry.parent, open => open.again())
    return await arrivals.open(folder, offerOf(entry, overwrite), this.#shown(number))
  }

  /** Files of one folder together. */
  async #writeShort(files: readonly NumberedFile[]): Promise<void> {
    const { list } = this.#config.layout
    for (let from = 0, to = 0; from < files.length; from = to) {
      const { parent } = list.of(files[from]!.number)
      while (to < files.length && list.of(files[to]!.number).parent === parent) to++
      await this.#writeIn(parent, files.slice(from, to))
    }
  }

  async #writeIn(parent: number, files: readonly NumberedFile[]): Promise<void> {
    const { folders, layout, arrivals } = this.#config
    const shownFolder = parent === 0 ? this.#config.shownPath : this.#shown(parent)
    const before = join(shownFolder, '.', '/')
    const shown = ({ entry }: ShortFile) => (before === './' ? '' : before) + entry.name
    const short = files.map(({ number, bytes }) => ({ entry: layout.list.of(number), bytes }))
    try {
      await folders.use(parent, async folder => {
        const giveBacks: (() => void)[] = []
        try {
          for (const file of short)
            giveBacks.push(arrivals.take(`${folder.path}/${file.entry.name}`, shown(file)))
          await this.#short.write(folder, short, shown)
        } finally {
          for (const giveBack of giveBacks) giveBack()
        }
      })
    } catch (error) {
      throw TransferFailure.from(error, `cannot create ${shown(short[0]!)}`)
    }
  }

  #shown(number: number): string {
    const { shownPath, layout } = this.#config
    return join(shownPath, layout.list.pathOf(number))
  }
}

function offerOf(
  { name, size, mode, mtimeMs, mtimeNanos, allocatedBytes }: TreeEntry,
  overwrite: boolean,
): Offer {
  const file = { name, size, mode, mtimeMs, mtimeNanos, allocatedBytes, overwrite }
  return { version: 1, directory: '', digest: 'XXH64', ring: null, transfer: new Uint8Array(), ...file }
}
