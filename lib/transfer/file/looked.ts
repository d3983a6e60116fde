/** What is known of a name in a folder, as much of it as transfers need: by Node.js, or by Linux's own call, which costs a third. */
import { constants, type Stats } from 'node:fs'

export type Looked = Pick<
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

/** The answer of statx(2), little-endian, with the numbers that Node.js has for it. */
export class StatxLook implements Looked {
  readonly mode: number
  readonly nlink: number
  readonly uid: number
  readonly dev: number
  readonly ino: number
  readonly size: number
  readonly blocks: number
  readonly mtimeMs: number

  constructor(answer: DataView) {
    this.mode = answer.getUint16(28, true)
    this.nlink = answer.getUint32(16, true)
    this.uid = answer.getUint32(20, true)
    this.ino = wide(answer, 32)
    this.size = wide(answer, 40)
    this.blocks = wide(answer, 48)
    this.dev = deviceOf(answer.getUint32(136, true), answer.getUint32(140, true))
    const seconds = answer.getInt32(116, true) * LOW + answer.getUint32(112, true)
    this.mtimeMs = seconds * 1000 + answer.getUint32(120, true) / 1e6
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

function wide(answer: DataView, at: number): number {
  return answer.getUint32(at + 4, true) * LOW + answer.getUint32(at, true)
}

/** As makedev(3) has it. */
function deviceOf(major: number, minor: number): number {
  const low = (((major & 0xfff) << 8) | (minor & 0xff)) >>> 0
  return low + (minor & 0xfff00) * 2 ** 12 + (minor >>> 20) * LOW + (major >>> 12) * 2 ** 44
}
