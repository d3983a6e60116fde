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
import { forEachAtOnce, SHORT_FILES_AT_ONCE } from './at-once.js'
import type { FileSink } from './file.js'
import { Haste } from './haste.js'
import type { OpenFolders } from './open-folders.js'
import { writeShortFile } from './short-file.js'
import { makeLinks, settleFolders, touchFiles } from './tree-ends.js'

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
  readonly #haste = new Haste()
  #resumeBytes = 0
  #isClosed = false

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
    const write = async (piece: Piece) => {
      const part = bytes.subarray(piece.at, piece.at + piece.length)
      if (this.#isPart(piece)) await this.#writePart(piece, part)
      else await this.#writeShort(piece.number, part)
    }
    await forEachAtOnce(pieces, write, SHORT_FILES_AT_ONCE)
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
    await forEachAtOnce(empty, number => this.#writeShort(number, new Uint8Array()))
    await makeLinks(layout.list, folders, overwrite)
    await touchFiles(layout.list, folders, this.#config.toTouch)
    await settleFolders(layout.list, folders)
    await this.#close()
    return deliveredPath
  }

  async keep(bytes = Number.POSITIVE_INFINITY): Promise<void> {
    const { layout } = this.#config
    for (const [number, { sink }] of this.#long) {
      const begin = layout.beginOf(number)
      await sink.then(open => open.keep(Math.max(0, bytes - begin))).catch(() => {})
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

  async #writeShort(number: number, bytes: Uint8Array): Promise<void> {
    const { folders, layout, arrivals, overwrite } = this.#config
    const entry = layout.list.of(number)
    try {
      await folders.use(entry.parent, async folder => {
        const giveBack = arrivals.take(join(folder.path, entry.name), this.#shown(number))
        try {
          await writeShortFile(folder, entry, bytes, overwrite, this.#haste)
        } finally {
          giveBack()
        }
      })
    } catch (error) {
      throw TransferFailure.from(error, `cannot create ${this.#shown(number)}`)
    }
  }

  #shown(number: number): string {
    const { shownPath, layout } = this.#config
    return join(shownPath, layout.list.pathOf(number))
  }
}

function offerOf({ name, size, mode, mtimeMs, allocatedBytes }: TreeEntry, overwrite: boolean): Offer {
  const file = { name, size, mode, mtimeMs, allocatedBytes, overwrite }
  return { version: 1, directory: '', digest: 'XXH64', ring: null, transfer: new Uint8Array(), ...file }
}
