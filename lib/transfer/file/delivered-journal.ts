/**
 * The file in the inbox that keeps what was delivered over a restart of the daemon: one line of JSON a delivery. The reader skips
 * a line that a kill has cut short.
 */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { open, rename, unlink } from '../../fs-by-text.js'
import { DELIVERED_NAME } from '../protocol/names.js'

/** A file with so many lines is written anew with those that still count. */
const LINES_MAX = 1024
/** A longer file is not Weir's. */
const FILE_BYTES_MAX = 8 << 20

/** What shows whether it is still the same file. */
export interface Identity {
  dev: number
  ino: number
  size: number
  mtimeMs: number
}

type Line = [key: string, file: Identity]

export class DeliveredJournal {
  readonly #path: string
  /** Lines of the file; while it has not been read, or cannot be, the next write makes a new one. */
  #lines = LINES_MAX
  /** The write under way: one after the other. */
  #turn: Promise<void> = Promise.resolve()

  /** @param folder real path of the inbox */
  constructor(folder: string) {
    this.#path = join(folder, DELIVERED_NAME)
  }

  /** All lines that can be read, oldest first. A file that is missing, a link or somebody else's has none. */
  async read(): Promise<Line[]> {
    const handle = await openOwn(this.#path, constants.O_RDONLY)
    if (!handle) return []
    try {
      const text = await handle.readFile('utf8')
      const lines = text.split('\n').flatMap(lineOf)
      this.#lines = lines.length
      return lines
    } catch {
      return []
    } finally {
      await handle.close()
    }
  }

  /**
   * Writes a delivery to the disk. If that fails, only a restart at the wrong moment loses it.
   * @param all what counts, for when the file has grown long
   */
  async append(line: Line, all: () => Iterable<Line>): Promise<void> {
    this.#turn = this.#turn.then(() => this.#append(line, all)).catch(() => {})
    await this.#turn
  }

  async #append(line: Line, all: () => Iterable<Line>): Promise<void> {
    if (this.#lines >= LINES_MAX) {
      const fresh = `${this.#path}~`
      const counting = [...all()]
      await unlink(fresh).catch(() => {})
      await write(fresh, constants.O_CREAT | constants.O_EXCL, counting)
      await rename(fresh, this.#path)
      this.#lines = counting.length
    } else {
      await write(this.#path, constants.O_CREAT | constants.O_APPEND, [line])
      this.#lines++
    }
  }
}

async function write(path: string, flags: number, lines: readonly Line[]): Promise<void> {
  const handle = await openOwn(path, constants.O_WRONLY | flags)
  if (!handle) return
  try {
    // A line that was cut short ends here.
    await handle.write(lines.map(line => `\n${JSON.stringify(line)}\n`).join(''))
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** Null unless it is a regular file of this user with one name. */
async function openOwn(path: string, flags: number): Promise<FileHandle | null> {
  const safe = constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(path, flags | safe, 0o600).catch(() => null)
  if (!handle) return null
  const stat = await handle.stat()
  const isOwn = stat.uid === (process.getuid?.() ?? stat.uid)
  if (stat.isFile() && stat.nlink === 1 && isOwn && stat.size <= FILE_BYTES_MAX) return handle
  await handle.close()
  return null
}

function lineOf(text: string): Line[] {
  try {
    const [key, file] = JSON.parse(text)
    const { dev, ino, size, mtimeMs } = file
    const isWhole = typeof key === 'string' && [dev, ino, size, mtimeMs].every(Number.isFinite)
    return isWhole ? [[key, { dev, ino, size, mtimeMs }]] : []
  } catch {
    return []
  }
}
