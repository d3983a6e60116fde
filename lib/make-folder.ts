/** Folders that a user names, and those above them. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fsPath } from './byte-text.js'
import { type ErrorCode, WeirError } from './errors.js'
import { whyNotWritten } from './file-reason.js'

/** What a folder is for, and what to say if it cannot be made. */
interface FolderWish {
  /** What it is for, as a message says it: "the inbox". */
  use: string
  /** How to name another: "choose another with --inbox". */
  mend: string
  /** Permissions of those that are made, less the umask. Default 0o777. */
  mode?: number
  /** Code of the error. Default WEIR_NO_FILE. */
  code?: ErrorCode
}

/**
 * Makes the folder, and those above it that are missing. Harmless when it is there. Throws `wish.code` when it cannot be
 * made, or is something else.
 *
 * Not by `recursive` of Node: that tries for ever in a folder that exists and says ENOENT to every new one, as /proc does.
 */
export function makeFolder(folder: string, wish: FolderWish): void {
  try {
    make(folder, wish.mode ?? 0o777)
  } catch (cause) {
    const text = `cannot make the folder ${folder} for ${wish.use}: ${whyNotWritten(cause)}; ${wish.mend}`
    throw new WeirError(wish.code ?? 'WEIR_NO_FILE', text, { cause })
  }
}

function make(folder: string, mode: number): void {
  if (tryToMake(folder, mode)) return
  const above = dirname(folder)
  if (above !== folder) make(above, mode)
  if (above === folder || !tryToMake(folder, mode)) throw new Error(`nothing can be made in ${above}`)
}

/** False if the system knows no folder that it could be made in. */
function tryToMake(folder: string, mode: number): boolean {
  try {
    mkdirSync(fsPath(folder), { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (!isDirectory(folder)) throw error
  }
  return true
}

function isDirectory(path: string): boolean {
  return statSync(fsPath(path), { throwIfNoEntry: false })?.isDirectory() ?? false
}
