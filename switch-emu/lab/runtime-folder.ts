/** Where labs keep what must outlive the command that brought them up: a folder for this user alone. */
import { lstatSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { makeFolder } from '../../lib/make-folder.js'

/** Environment variable that names the folder. Within a lab it is set: an ordinary user is root there. */
export const LABS_VARIABLE = 'WEIR_LABS'

/** `$WEIR_LABS`, else `$XDG_RUNTIME_DIR/weir/labs`, else `weir-UID/labs` in the temporary folder. */
export function labsFolder(): string {
  const { env } = process
  if (env[LABS_VARIABLE]) return env[LABS_VARIABLE]
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, 'weir', 'labs')
  return join(tmpdir(), `weir-${process.getuid?.() ?? 'user'}`, 'labs')
}

/**
 * Makes the folder of all labs when it is not there. Throws WEIR_BAD_STATE when it, or the one above it, is somebody
 * else's or open to others: whoever writes there says which processes `weir lab down` ends.
 */
export function prepareLabsFolder(folder: string = labsFolder()): string {
  makeFolder(folder, { use: 'labs', mend: `name another place with ${LABS_VARIABLE}`, mode: 0o700 })
  for (const one of [dirname(folder), folder]) checkOwner(one)
  return folder
}

/** Removes the folder of all labs, and the one above it, when they are empty. */
export function removeLabsFolder(): void {
  const folder = labsFolder()
  try {
    rmdirSync(folder)
    rmdirSync(dirname(folder))
  } catch {
    // Something is in use there.
  }
}

function checkOwner(folder: string): void {
  const stat = lstatSync(folder)
  const mine = stat.isDirectory() && stat.uid === process.getuid?.()
  if (mine && (stat.mode & 0o022) === 0) return
  const why = mine ? 'others may write to it' : 'it is not a folder of this user'
  throw new WeirError(
    'WEIR_BAD_STATE',
    `${folder} cannot hold labs: ${why}; remove it (chmod go-w mends the second), or name another place with WEIR_LABS`,
  )
}
