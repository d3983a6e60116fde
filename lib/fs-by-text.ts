/** node:fs/promises for paths that may hold bytes which are no UTF-8: see byte-text.ts. */
import { readlinkSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { resolve } from 'node:path'
import { fsPath, textOf } from './byte-text.js'

export const open = (path: string, flags?: string | number, mode?: number) =>
  fs.open(fsPath(path), flags, mode)
export const stat = (path: string) => fs.stat(fsPath(path))
/** With nanoseconds. */
export const lstat = (path: string) => fs.lstat(fsPath(path), { bigint: true })
export const exactStat = (path: string) => fs.stat(fsPath(path), { bigint: true })
export const statfs = (path: string) => fs.statfs(fsPath(path))
export const access = (path: string, mode?: number) => fs.access(fsPath(path), mode)
export const mkdir = (path: string, mode: number) => fs.mkdir(fsPath(path), { mode })
export const rmdir = (path: string) => fs.rmdir(fsPath(path))
export const unlink = (path: string) => fs.unlink(fsPath(path))
export const rename = (from: string, to: string) => fs.rename(fsPath(from), fsPath(to))
export const link = (from: string, to: string) => fs.link(fsPath(from), fsPath(to))
export const symlink = (target: string, path: string) => fs.symlink(fsPath(target), fsPath(path))
export const chmod = (path: string, mode: number) => fs.chmod(fsPath(path), mode)
export const utimes = (path: string, atime: Date, mtime: number | string) =>
  fs.utimes(fsPath(path), atime, mtime)
export const lutimes = (path: string, atime: Date, mtime: number | string) =>
  fs.lutimes(fsPath(path), atime, mtime)
export const realpath = async (path: string) => textOf(await fs.realpath(fsPath(path), 'buffer'))
export const readlink = async (path: string) => textOf(await fs.readlink(fsPath(path), 'buffer'))

/** What is in a folder: a name, and whether it is a folder or a regular file itself. */
export interface Entry {
  name: string
  isDirectory: boolean
  isFile: boolean
}

/** Each such read costs a turn of a thread. Node.js takes 32. */
const ENTRIES_AT_ONCE = 512

export async function* entriesOf(path: string): AsyncGenerator<Entry> {
  // Node gives names as bytes when asked; its types do not say so.
  const encoding = 'buffer' as BufferEncoding
  const folder = await fs.opendir(fsPath(path) as string, { encoding, bufferSize: ENTRIES_AT_ONCE })
  for await (const entry of folder) {
    const name = textOf(entry.name as unknown as Buffer)
    yield { name, isDirectory: entry.isDirectory(), isFile: entry.isFile() }
  }
}

/** `path` as an absolute one, from the folder that this process is in. */
export function absolutePath(path: string): string {
  return path.startsWith('/') ? resolve(path) : resolve(workingFolder(), path)
}

/** Node.js gives it as UTF-8 alone. */
function workingFolder(): string {
  try {
    return textOf(readlinkSync('/proc/self/cwd', 'buffer'))
  } catch {
    return process.cwd()
  }
}
