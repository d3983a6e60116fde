/**
 * Times of files, to the nanosecond by Linux's own call. Node.js takes them as numbers that are exact to a quarter of a microsecond: where the
 * call cannot be made, the nanoseconds below a microsecond are lost.
 */
import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { bytesOf } from '../../byte-text.js'
import { lutimes, utimes } from '../../fs-by-text.js'
import { type Libc, libcFault, loadLibc } from '../../io/linux/libc.js'

/** Both numbers together are exact. */
export interface FileTime {
  /** Milliseconds since 1970; exact to a quarter of a microsecond. */
  readonly mtimeMs: number
  /** Nanoseconds since the second began; 0 or absent: `mtimeMs` says all that is known. */
  readonly mtimeNanos?: number
}

/** Unequal numbers of one time: Node.js, and hosts of other versions, may be a microsecond off. */
const SAME_MS = 0.002

/** True if a file with that time counts as unchanged. */
export function isSameTime(a: FileTime, b: FileTime): boolean {
  return Math.abs(a.mtimeMs - b.mtimeMs) < SAME_MS
}

/** utimensat(2): paths from this process's folder, times of a link itself, and the present. */
const AT_FDCWD = -100
const AT_SYMLINK_NOFOLLOW = 0x100
const UTIME_NOW = 0x3fffffff
/** Two `struct timespec`. */
const TIMES_BYTES = 32
const TIMES = new Uint8Array(TIMES_BYTES)

/** Sets the time of an open file, by a synchronous call. */
export function setTimeQuickly(fd: number, time: FileTime): void {
  const libc = libcOrNull()
  if (libc !== null) writeTimes(TIMES, time)
  if (libc?.futimens(fd, TIMES) !== 0) fs.futimesSync(fd, Date.now() / 1000, nodeTime(time))
}

/** Sets the time of an open file. */
export async function setTimeOf(handle: FileHandle, time: FileTime): Promise<void> {
  const isSet = await byLinux(time, (libc, times, done) => libc.futimensAsync(handle.fd, times, done))
  if (!isSet) await handle.utimes(new Date(), nodeTime(time))
}

/** Sets the time of what lies at that path. */
export async function setTimeAt(path: string, time: FileTime): Promise<void> {
  if (!(await setByPath(path, time, 0))) await utimes(path, new Date(), nodeTime(time))
}

/** Sets the time of a symbolic link itself. */
export async function setTimeOfLink(path: string, time: FileTime): Promise<void> {
  if (!(await setByPath(path, time, AT_SYMLINK_NOFOLLOW))) await lutimes(path, new Date(), nodeTime(time))
}

async function setByPath(path: string, time: FileTime, flags: number): Promise<boolean> {
  const bytes = bytesOf(`${path}\0`)
  return await byLinux(time, (libc, times, done) => {
    libc.utimensatAsync(AT_FDCWD, bytes, times, flags, done)
  })
}

/** Returns false if the call fails, or cannot be made: Node.js then says why. */
async function byLinux(
  time: FileTime,
  call: (libc: Libc, times: Uint8Array, done: (result: number) => void) => void,
): Promise<boolean> {
  const libc = libcOrNull()
  if (libc === null) return false
  const times = new Uint8Array(TIMES_BYTES)
  writeTimes(times, time)
  return await new Promise(resolve => call(libc, times, result => resolve(result === 0)))
}

/** Two `struct timespec`: the present as the time of access, and the time. */
function writeTimes(into: Uint8Array, time: FileTime): void {
  const view = new DataView(into.buffer)
  const { seconds, nanos } = exactly(time)
  view.setUint32(8, UTIME_NOW, true)
  view.setBigInt64(16, BigInt(seconds), true)
  view.setUint32(24, nanos, true)
}

function exactly({ mtimeMs, mtimeNanos = 0 }: FileTime): { seconds: number; nanos: number } {
  if (mtimeNanos > 0) return { seconds: Math.round(mtimeMs / 1000 - mtimeNanos / 1e9), nanos: mtimeNanos }
  // A little more than what the number says, which may be less than the microsecond that is meant.
  const microseconds = Math.floor(mtimeMs * 1000 + 0.2)
  const seconds = Math.floor(microseconds / 1e6)
  return { seconds, nanos: (microseconds - seconds * 1e6) * 1000 }
}

/**
 * As the functions of node:fs take a time. Before Node.js 24 they cut a number of seconds to the microsecond, towards 1970, and until 2106 a
 * number is exact to a quarter of one: so it is a little further from 1970 than the microsecond that is meant. Later versions do not cut, and
 * set the time that little further. They take a negative number for the present, but not as text.
 */
export function nodeTime(time: FileTime): number | string {
  const { seconds, nanos } = exactly(time)
  const microseconds = seconds * 1e6 + Math.floor(nanos / 1000)
  return microseconds < 0 ? String((microseconds - 0.4) / 1e6) : (microseconds + 0.4) / 1e6
}

function libcOrNull(): Libc | null {
  return libcFault() === null ? loadLibc() : null
}
