/** What is known of a name in a folder, as much of it as transfers need: by Node.js, or by Linux's own call, which costs a third. */
import { type BigIntStats, constants, type Stats } from 'node:fs'
import type { FileTime } from './file-time.js'

export type Looked = Stated & Required<FileTime>

/** As much of it as the usual answer of Node.js has too, which lacks the nanoseconds. */
export type Stated = Pick<
  Stats,
  | 'isFile'
  | 'isDirectory'
  | 'isSymbolicLink'
  | 'dev'
  | 'ino'
  | 'uid'
  | 'nlink'
  | 'mode'
  | 'size'
  | 'blocks'
  | 'mtimeMs'
>

/** Memory for a `struct statx`, and the mask for what follows. */
export const STATX_BYTES = 256
export const STATX_BASIC = 0x7ff
const LOW = 2 ** 32
const SECOND_NS = 1_000_000_000n

interface LookedNumbers {
  mode: number
  nlink: number
  uid: number
  dev: number
  ino: number
  size: number
  blocks: number
  /** Since 1970. */
  mtimeSeconds: number
  mtimeNanos: number
}

class Look implements Looked {
  readonly mode: number
  readonly nlink: number
  readonly uid: number
  readonly dev: number
  readonly ino: number
  readonly size: number
  readonly blocks: number
  readonly mtimeMs: number
  readonly mtimeNanos: number

  constructor(numbers: LookedNumbers) {
    this.mode = numbers.mode
    this.nlink = numbers.nlink
    this.uid = numbers.uid
    this.dev = numbers.dev
    this.ino = numbers.ino
    this.size = numbers.size
    this.blocks = numbers.blocks
    // As Node.js computes it.
    this.mtimeMs = numbers.mtimeSeconds * 1000 + numbers.mtimeNanos / 1e6
    this.mtimeNanos = numbers.mtimeNanos
  }

  isFile(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFREG
  }

  isDirectory(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFDIR
  }

  isSymbolicLink(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFLNK
  }
}

/** The answer of statx(2), little-endian, with the numbers that Node.js has for it. */
export function lookedByStatx(answer: DataView): Looked {
  return new Look({
    mode: answer.getUint16(28, true),
    nlink: answer.getUint32(16, true),
    uid: answer.getUint32(20, true),
    dev: deviceOf(answer.getUint32(136, true), answer.getUint32(140, true)),
    ino: wide(answer, 32),
    size: wide(answer, 40),
    blocks: wide(answer, 48),
    mtimeSeconds: answer.getInt32(116, true) * LOW + answer.getUint32(112, true),
    mtimeNanos: answer.getUint32(120, true),
  })
}

/** The answer of Node.js that has the nanoseconds. */
export function lookedByNode(answer: BigIntStats): Looked {
  // Before 1970 the remainder is negative.
  const nanos = ((answer.mtimeNs % SECOND_NS) + SECOND_NS) % SECOND_NS
  return new Look({
    mode: Number(answer.mode),
    nlink: Number(answer.nlink),
    uid: Number(answer.uid),
    dev: Number(answer.dev),
    ino: Number(answer.ino),
    size: Number(answer.size),
    blocks: Number(answer.blocks),
    mtimeSeconds: Number((answer.mtimeNs - nanos) / SECOND_NS),
    mtimeNanos: Number(nanos),
  })
}

function wide(answer: DataView, at: number): number {
  return answer.getUint32(at + 4, true) * LOW + answer.getUint32(at, true)
}

/** As makedev(3) has it. */
function deviceOf(major: number, minor: number): number {
  const low = (((major & 0xfff) << 8) | (minor & 0xff)) >>> 0
  return low + (minor & 0xfff00) * 2 ** 12 + (minor >>> 20) * LOW + (major >>> 12) * 2 ** 44
}
