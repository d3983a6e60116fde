/** Runs of zeros in a file whose source has holes: where nothing is written a hole stays. */
import { libcFault, loadLibc } from '../../io/linux/libc.js'

/** Blocks of most file systems: finer holes do not exist. */
const BLOCK_BYTES = 4096
const ZEROS = Buffer.alloc(BLOCK_BYTES)

/** lseek(2): to the next byte from there on that is stored. It fails with ENXIO where none is. */
const SEEK_DATA = 3
const ENXIO = 6

/**
 * True if the file system says that nothing is stored there: it reads as zeros. False where it does not say. Node.js has no such call, and a read
 * has the kernel write the zeros.
 */
export function isHole(fd: number, position: number, length: number): boolean {
  if (libcFault() !== null) return false
  const libc = loadLibc()
  const data = libc.lseek(fd, position, SEEK_DATA)
  return data < 0 ? libc.errno() === ENXIO : data >= position + length
}

/** A part of a chunk, from `from` to before `to`. */
interface Run {
  from: number
  to: number
}

/**
 * The parts of `bytes` that are to be written: whole blocks of the file, as it lies at `position`, that hold nothing but zeros
 * are left out.
 */
export function dataRuns(bytes: Uint8Array, position: number): Run[] {
  const runs: Run[] = []
  let last: Run | null = null
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + BLOCK_BYTES - ((position + from) % BLOCK_BYTES))
    if (isZero(bytes, from, to)) last = null
    else if (last !== null) last.to = to
    else {
      last = { from, to }
      runs.push(last)
    }
    from = to
  }
  return runs
}

/** True if `bytes` holds nothing but zeros. */
export function areZeros(bytes: Uint8Array): boolean {
  for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
    if (!isZero(bytes, from, Math.min(bytes.length, from + BLOCK_BYTES))) return false
  }
  return true
}

/** Looks at the first byte by itself, which decides for nearly all that is no hole. */
function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  return bytes[from] === 0 && ZEROS.compare(bytes, from, to, 0, to - from) === 0
}
