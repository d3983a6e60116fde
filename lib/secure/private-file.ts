/** Files with secrets: nobody but their owner may use them. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { WeirError } from '../errors.js'

/** Permission bits of everybody but the file's owner, and those that a credential of systemd may not have either. */
const OTHERS = 0o077
const BEYOND_GROUP_READS = 0o037

/**
 * The first bytes of the file, one more than `bytesMax` if it is longer. Throws WEIR_BAD_ARGUMENT if others may use it, or it is no file;
 * what the system says if it cannot be read.
 *
 * systemd gives a service its credentials in $CREDENTIALS_DIRECTORY: files of root with mode 0440, which the service alone may read by an
 * access list that shows in the group's bits.
 */
export function readPrivateFile(
  path: string,
  bytesMax: number,
  env: NodeJS.ProcessEnv = process.env,
): Buffer {
  // A pipe would make the start wait for who writes into it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile())
      throw new WeirError('WEIR_BAD_ARGUMENT', `${path} is no file: a secret is read from a file alone`)
    checkMode(path, stat, isCredential(path, stat, env))
    const bytes = Buffer.alloc(bytesMax + 1)
    let length = 0
    for (let more = -1; more !== 0 && length < bytes.length; length += more) {
      more = readSync(file, bytes, length, bytes.length - length, null)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

function isCredential(
  path: string,
  { uid }: Stats,
  { CREDENTIALS_DIRECTORY: folder }: NodeJS.ProcessEnv,
): boolean {
  return folder !== undefined && folder !== '' && uid === 0 && dirname(resolve(path)) === resolve(folder)
}

function checkMode(path: string, { mode }: Stats, isCredential: boolean): void {
  if ((mode & (isCredential ? BEYOND_GROUP_READS : OTHERS)) === 0) return
  const is = (mode & 0o777).toString(8).padStart(4, '0')
  const text = `${path}: others may use it (mode ${is}): chmod 0600 ${path}, or make another one`
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}
