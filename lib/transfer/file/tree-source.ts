/** The wanted files of a tree of this machine, one behind the other, as the source of a transfer. */
import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { TransferFailure } from '../protocol/failure.js'
import type { Piece, TreeLayout } from '../protocol/tree-layout.js'
import { forEachAtOnce, SHORT_FILES_AT_ONCE } from './at-once.js'
import { Breather } from './breather.js'
import type { FileSource, ListedTree } from './file.js'
import { readFully } from './file-source.js'
import { Haste } from './haste.js'
import type { Stated } from './looked.js'
import { lookAtOpen } from './quick-folder.js'

type OpensFiles = Pick<ListedTree, 'openFile' | 'openQuickly'>

/** Long files that stay open between two reads. */
const OPEN_MAX = 8

export class TreeSource implements FileSource {
  readonly name = ''
  readonly size: number
  readonly allocatedBytes = 0
  readonly mode = 0
  readonly mtimeMs = 0
  readonly mtimeNanos = 0
  readonly #layout: TreeLayout
  readonly #files: OpensFiles
  readonly #haste = new Haste()
  readonly #breather = new Breather()
  readonly #open = new Map<number, Promise<FileHandle>>()
  /** Resolves when no chunk's short files are being read. */
  #turn: Promise<void> = Promise.resolve()

  constructor(layout: TreeLayout, files: OpensFiles) {
    this.#layout = layout
    this.size = layout.bytes
    this.#files = files
  }

  mayBeHole(position: number, length: number): boolean {
    const { list } = this.#layout
    return this.#layout.piecesOf(position, length).every(({ number }) => list.of(number).allocatedBytes > 0)
  }

  async read(into: Uint8Array, position: number): Promise<void> {
    const pieces = this.#layout.piecesOf(position, into.length)
    // The oldest chunk is the one that the other end waits for, so others do not take turns with it.
    const left = this.#turn.then(() => this.#readShort(into, pieces))
    this.#turn = left.then(
      () => {},
      () => {},
    )
    await forEachAtOnce(await left, piece => this.#readPiece(into, piece), SHORT_FILES_AT_ONCE)
  }

  /** Reads whole files by synchronous calls while these pay. Returns what is left. */
  async #readShort(into: Uint8Array, pieces: readonly Piece[]): Promise<Piece[]> {
    const left: Piece[] = []
    for (const piece of pieces) {
      if (!this.#haste.pays || !this.#isWhole(piece)) left.push(piece)
      else await this.#readQuickly(into, piece)
    }
    return left
  }

  /** Each file is looked at when its end has been read. */
  async verifyUnchanged(): Promise<void> {}

  async close(): Promise<void> {
    const handles = [...this.#open.values()]
    this.#open.clear()
    for (const handle of handles) await closeQuietly(handle)
  }

  #isWhole({ number, length }: Piece): boolean {
    return length === this.#layout.list.of(number).size
  }

  async #readPiece(into: Uint8Array, piece: Piece): Promise<void> {
    try {
      await this.#readOf(into, piece)
    } catch (error) {
      throw this.#cannotRead(piece.number, error)
    }
  }

  #cannotRead(number: number, error: unknown): TransferFailure {
    // Somebody has put a link in its place.
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') return this.#changed(number)
    return TransferFailure.from(error, `cannot read ${this.#layout.list.pathOf(number)}`)
  }

  async #readOf(into: Uint8Array, piece: Piece): Promise<void> {
    const { number, offset, at, length } = piece
    const { size } = this.#layout.list.of(number)
    const bytes = into.subarray(at, at + length)
    const isShort = this.#isWhole(piece)
    const handle = await (isShort ? this.#files.openFile(number) : this.#longFile(number))
    try {
      await readFully(handle, bytes, offset, () => this.#changed(number))
      if (offset + length === size) this.#checkUnchanged(number, await handle.stat())
    } finally {
      if (isShort) await handle.close()
    }
  }

  /** A whole file, by synchronous calls. Packets have their turn between files. */
  async #readQuickly(into: Uint8Array, { number, at, length }: Piece): Promise<void> {
    if (this.#breather.isDue) await this.#breather.breathe()
    try {
      this.#haste.run(() => this.#readAtOnce(number, into.subarray(at, at + length)))
    } catch (error) {
      throw this.#cannotRead(number, error)
    }
  }

  #readAtOnce(number: number, bytes: Uint8Array): void {
    const fd = this.#files.openQuickly(number)
    try {
      for (let at = 0; at < bytes.length; ) {
        const bytesRead = fs.readSync(fd, bytes, at, bytes.length - at, at)
        if (bytesRead === 0) throw this.#changed(number)
        at += bytesRead
      }
      this.#checkUnchanged(number, lookAtOpen(fd))
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Several reads of one file may be under way. One that is closed meanwhile fails, so the oldest of more than so many goes. */
  async #longFile(number: number): Promise<FileHandle> {
    let handle = this.#open.get(number)
    if (handle === undefined) {
      handle = this.#files.openFile(number)
      this.#open.set(number, handle)
      for (const [oldest, old] of this.#open) {
        if (this.#open.size <= OPEN_MAX) break
        this.#open.delete(oldest)
        void closeQuietly(old)
      }
    }
    return await handle
  }

  #checkUnchanged(number: number, stat: Stated): void {
    const { size, mtimeMs } = this.#layout.list.of(number)
    if (!stat.isFile() || stat.size !== size || stat.mtimeMs !== mtimeMs) throw this.#changed(number)
  }

  #changed(number: number): TransferFailure {
    const path = this.#layout.list.pathOf(number)
    return new TransferFailure('CHANGED', `${path} was modified while it was sent: try again`)
  }
}

async function closeQuietly(handle: Promise<FileHandle>): Promise<void> {
  await handle.then(open => open.close()).catch(() => {})
}
