/** A regular file of this machine as the source of a transfer. */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { open, readlink, realpath } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import type { FileSource } from './file.js'
import { isHole } from './holes.js'
import { type Looked, lookedByNode } from './looked.js'

/** Unit of `Stats.blocks`, on every file system. */
const STAT_BLOCK_BYTES = 512

/** Opens `path`. Throws WEIR_NO_FILE when it is missing, unreadable or not a regular file. */
export async function openSource(path: string): Promise<FileSource> {
  try {
    return await openRegular(path, path)
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    throw new WeirError('WEIR_NO_FILE', `cannot read ${path}: ${reasonOf(cause)}`, { cause })
  }
}

/** Opens `path`, which messages call `shown`. Throws NOT_A_FILE, or what the system says. */
export async function openRegular(path: string, shown: string): Promise<LocalSource> {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const stat = lookedByNode(await handle.stat({ bigint: true }))
  if (stat.isFile()) return new LocalSource(path, shown, handle, stat)
  await handle.close()
  const what = stat.isDirectory()
    ? 'a directory: name the files in it, or make an archive'
    : 'not a regular file'
  throw new TransferFailure('NOT_A_FILE', `${shown} is ${what}`)
}

/** As `FileSource.allocatedBytes`. Where a system reports no blocks, nothing is known of holes. */
export function allocatedBytesOf({ blocks, size }: Pick<Looked, 'blocks' | 'size'>): number {
  const allocatedBytes = blocks * STAT_BLOCK_BYTES
  return allocatedBytes < size ? Math.max(1, allocatedBytes) : 0
}

function reasonOf(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES' || code === 'EPERM') return 'the daemon may not read it'
  return whyNotRead(cause)
}

export class LocalSource implements FileSource {
  readonly name: string
  readonly size: number
  readonly allocatedBytes: number
  readonly mode: number
  readonly mtimeMs: number
  readonly mtimeNanos: number
  readonly #path: string
  readonly #shown: string
  #handle: FileHandle | null

  constructor(path: string, shown: string, handle: FileHandle, stat: Looked) {
    this.#path = path
    this.#shown = shown
    this.#handle = handle
    this.name = basename(shown)
    this.size = stat.size
    this.allocatedBytes = allocatedBytesOf(stat)
    this.mode = stat.mode & 0o777
    this.mtimeMs = stat.mtimeMs
    this.mtimeNanos = stat.mtimeNanos
  }

  /** Where the file that is open lies: on Linux the kernel says so, elsewhere its path is followed again. */
  async realPath(): Promise<string> {
    const { fd } = this.#open()
    return await readlink(`/proc/self/fd/${fd}`).catch(() => realpath(this.#path))
  }

  mayBeHole(): boolean {
    return this.allocatedBytes > 0
  }

  async read(into: Uint8Array, position: number): Promise<void> {
    const handle = this.#open()
    // A file that has become shorter shows when it is looked at once more, at the end.
    if (this.allocatedBytes > 0 && isHole(handle.fd, position, into.length)) into.fill(0)
    else await readFully(handle, into, position, () => this.#notItsSize('fewer'))
  }

  /** Looks behind the end as well: a file that the kernel makes up, as in /proc, has contents whatever its size says. */
  async verifyUnchanged(): Promise<void> {
    const handle = this.#open()
    const { size, mtimeMs } = await handle.stat()
    if (size !== this.size || mtimeMs !== this.mtimeMs) {
      throw new TransferFailure('CHANGED', `${this.#shown} was modified while it was sent: try again`)
    }
    const { bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size)
    if (bytesRead > 0) throw this.#notItsSize('more')
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = null
    await handle?.close()
  }

  #open(): FileHandle {
    if (!this.#handle) throw new WeirError('WEIR_BAD_STATE', `${this.#shown} is closed`)
    return this.#handle
  }

  #notItsSize(how: 'fewer' | 'more'): TransferFailure {
    return new TransferFailure(
      'CHANGED',
      `${this.#shown} had ${how} bytes than the ${this.size} of its size while it was sent: try again, or copy it to a regular file first`,
    )
  }
}

/** Fills `into` from `position`; `tooShort` makes the error for an early end of the file. */
export async function readFully(
  handle: FileHandle,
  into: Uint8Array,
  position: number,
  tooShort: () => Error,
): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await handle.read(into, at, into.length - at, position + at)
    if (bytesRead === 0) throw tooShort()
    at += bytesRead
  }
}
