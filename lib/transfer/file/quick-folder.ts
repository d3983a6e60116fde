/**
 * The synchronous calls in an open folder: see haste.ts. Only where names are resolved from its descriptor.
 *
 * Linux's own calls take the descriptor and the name. Where they cannot be made, Node.js takes the descriptor as a path in /proc, for which
 * the kernel looks up three names more.
 */
import fs, { constants } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { bytesOf, fsPath, textOf } from '../../byte-text.js'
import { type Libc, libcFault, loadLibc } from '../../io/linux/libc.js'
import { type Looked, lookedByNode, lookedByStatx, STATX_BASIC, STATX_BYTES } from './looked.js'
import { hasNoLinks, nameTaken } from './name-taken.js'

/** Node.js does not name the flag. Programs that are started do not get the file. */
const O_CLOEXEC = 0o2000000
/** renameat2(2): fails with EEXIST where something has the new name. */
const RENAME_NOREPLACE = 1
/** The file system, or the kernel, does not know renameat2. */
const NO_SUCH_RENAME = ['EINVAL', 'ENOSYS', 'ENOTSUP', 'EPERM']

/** open(2): a file without a name, in that folder; Node.js does not name the flag. It is gone with its descriptor unless it gets a name. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY
const AT_SYMLINK_FOLLOW = 0x400
const AT_FDCWD = -100
const HERE = zeroEnded('.')

/** statx(2): mask and flags, memory for two answers, and where in them inode and device stand. */
const STATX_INO = 0x100
const AT_EMPTY_PATH = 0x1000
const AT_SYMLINK_NOFOLLOW = 0x100
const OPEN = Buffer.alloc(STATX_BYTES)
const NAMED = Buffer.alloc(STATX_BYTES)
const LOOKED = new DataView(new ArrayBuffer(STATX_BYTES))
const LOOKED_BYTES = new Uint8Array(LOOKED.buffer)
const IDENTITY = [
  [32, 40],
  [136, 144],
] as const
const NO_NAME = Buffer.alloc(1)

const NAMES_AT_ONCE = 512

/** A name that several calls take. */
export class QuickName {
  readonly text: string
  /** With a NUL at its end. */
  readonly bytes: Uint8Array

  constructor(text: string) {
    this.text = text
    this.bytes = zeroEnded(text)
  }
}

export class QuickFolder {
  readonly #fd: number
  readonly #at: string
  readonly #libc: Libc | null = libcFault() === null ? loadLibc() : null
  #renamesSafely = true
  /** This folder's files can get their names last. */
  #takesUnnamed = true
  #linksDescriptors = true

  /** @param at a path that leads to the folder by its descriptor, `fd` */
  constructor(fd: number, at: string) {
    this.#fd = fd
    this.#at = at
  }

  /** Returns a descriptor. @param flags O_NOFOLLOW and O_CLOEXEC are added */
  open(name: QuickName, flags: number, mode = 0): number {
    if (this.#libc === null) return fs.openSync(this.#path(name.text), flags | constants.O_NOFOLLOW, mode)
    const fd = this.#libc.openat(this.#fd, name.bytes, flags | constants.O_NOFOLLOW | O_CLOEXEC, mode)
    if (fd < 0) throw this.#failure('open', name.text)
    return fd
  }

  /** Returns the descriptor of a new file that has no name yet; -1 where there are no such files. */
  openUnnamed(mode: number): number {
    if (this.#libc === null || !this.#takesUnnamed) return -1
    const fd = this.#libc.openat(this.#fd, HERE, constants.O_RDWR | O_TMPFILE | O_CLOEXEC, mode)
    // Whatever it is: the way by a temporary name works, or says what is wrong.
    if (fd < 0) this.#takesUnnamed = false
    return fd
  }

  /** Gives such a file its name. Returns false where that cannot be. Throws EXISTS (WEIR_FILE_EXISTS). */
  nameUnnamed(fd: number, name: QuickName): boolean {
    if (this.#linksDescriptors && this.#linkDescriptor(fd, name)) return true
    const from = zeroEnded(`/proc/self/fd/${fd}`)
    if (this.#libc!.linkat(AT_FDCWD, from, this.#fd, name.bytes, AT_SYMLINK_FOLLOW) === 0) return true
    if (this.#failure('link', name.text).code === 'EEXIST') throw nameTaken()
    this.#takesUnnamed = false
    return false
  }

  /** The same without a path for the kernel to follow. Returns false where it does not allow that: mostly it is for root alone. */
  #linkDescriptor(fd: number, name: QuickName): boolean {
    if (this.#libc!.linkat(fd, NO_NAME, this.#fd, name.bytes, AT_EMPTY_PATH) === 0) return true
    if (this.#failure('link', name.text).code === 'EEXIST') throw nameTaken()
    this.#linksDescriptors = false
    return false
  }

  /** Writes all bytes to a file that is empty. */
  writeWhole(fd: number, bytes: Uint8Array): void {
    let at = 0
    if (this.#libc !== null) {
      at = this.#libc.write(fd, bytes, bytes.length)
      if (at < 0) throw this.#failure('write', '')
    }
    while (at < bytes.length) at += fs.writeSync(fd, bytes, at, bytes.length - at, at)
  }

  close(fd: number): void {
    // Node.js counts what a thread has opened, and warns of others.
    if (this.#libc === null) fs.closeSync(fd)
    else this.#libc.close(fd)
  }

  /** True if the name is that of the open file. False if it is another file's, or nothing says so quickly. */
  isNameOf(name: QuickName, fd: number): boolean {
    if (this.#libc === null) return false
    const { statx } = this.#libc
    const isKnown =
      statx(fd, NO_NAME, AT_EMPTY_PATH, STATX_INO, OPEN) === 0 &&
      statx(this.#fd, name.bytes, AT_SYMLINK_NOFOLLOW, STATX_INO, NAMED) === 0
    return isKnown && IDENTITY.every(([from, to]) => OPEN.compare(NAMED, from, to, from, to) === 0)
  }

  /** What is in it, in no order. */
  *names(): Generator<string, void, void> {
    // Node.js gives names as bytes when asked; its types do not say so.
    const encoding = 'buffer' as BufferEncoding
    const folder = fs.opendirSync(`${this.#at}/.`, { encoding, bufferSize: NAMES_AT_ONCE })
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync())
        yield textOf(entry.name as unknown as Buffer)
    } finally {
      folder.closeSync()
    }
  }

  /** Null if nothing has that name. Follows no link. */
  look(name: string): Looked | null {
    if (this.#libc === null) {
      const stat = fs.lstatSync(this.#path(name), { bigint: true, throwIfNoEntry: false })
      return stat === undefined ? null : lookedByNode(stat)
    }
    const { statx } = this.#libc
    if (statx(this.#fd, zeroEnded(name), AT_SYMLINK_NOFOLLOW, STATX_BASIC, LOOKED_BYTES) === 0)
      return lookedByStatx(LOOKED)
    const failure = this.#failure('lstat', name)
    if (failure.code === 'ENOENT') return null
    throw failure
  }

  /** The same, but null if that is not allowed either, or fails. */
  lookIfAllowed(name: string): Looked | null {
    try {
      return this.look(name)
    } catch {
      return null
    }
  }

  /** Replaces what has the name already only with `overwrite`. Throws EXISTS (WEIR_FILE_EXISTS). */
  giveName(partial: QuickName, name: QuickName, overwrite: boolean): void {
    if (overwrite) this.#rename(partial, name)
    else if (!this.#renameWithoutReplacing(partial, name)) this.#linkAndUnlink(partial.text, name.text)
  }

  /** Removes what has that name, if anything has. */
  removeIfThere(name: string): void {
    try {
      fs.unlinkSync(this.#path(name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  #rename(from: QuickName, to: QuickName): void {
    if (this.#libc === null) fs.renameSync(this.#path(from.text), this.#path(to.text))
    else if (this.#renameAt(from, to, 0) < 0) throw this.#failure('rename', from.text)
  }

  /** Returns false where that cannot be. */
  #renameWithoutReplacing(from: QuickName, to: QuickName): boolean {
    if (this.#libc === null || !this.#renamesSafely) return false
    if (this.#renameAt(from, to, RENAME_NOREPLACE) === 0) return true
    const failure = this.#failure('rename', from.text)
    if (failure.code === 'EEXIST') throw nameTaken()
    if (!NO_SUCH_RENAME.includes(failure.code!)) throw failure
    this.#renamesSafely = false
    return false
  }

  #renameAt(from: QuickName, to: QuickName, flags: number): number {
    return this.#libc!.renameat2(this.#fd, from.bytes, this.#fd, to.bytes, flags)
  }

  /** As `renameWithoutReplacing` of give-name.ts. */
  #linkAndUnlink(from: string, to: string): void {
    try {
      fs.linkSync(this.#path(from), this.#path(to))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw nameTaken()
      if (!hasNoLinks(error)) throw error
      this.#rename(new QuickName(from), new QuickName(to))
      return
    }
    this.removeIfThere(from)
  }

  /** What the last call of `#libc` has failed with, as node:fs would say it. */
  #failure(syscall: string, name: string): NodeJS.ErrnoException {
    const errno = -this.#libc!.errno()
    const code = getSystemErrorName(errno)
    return Object.assign(new Error(`${code}: ${syscall} '${name}'`), { code, errno, syscall })
  }

  #path(name: string): string | Buffer {
    return fsPath(`${this.#at}/${name}`)
  }
}

function zeroEnded(name: string): Uint8Array {
  return bytesOf(`${name}\0`)
}

/** An open file. */
export function lookAtOpen(fd: number): Looked {
  const libc = libcFault() === null ? loadLibc() : null
  if (libc?.statx(fd, NO_NAME, AT_EMPTY_PATH, STATX_BASIC, LOOKED_BYTES) === 0) return lookedByStatx(LOOKED)
  return lookedByNode(fs.fstatSync(fd, { bigint: true }))
}
