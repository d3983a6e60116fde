/**
 * The folder for data of labs that outlives the command that brought them up. Only this user may access it.
 */
import { lstatSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { makeFolder } from '../../lib/make-folder.js'

/** Environment variable with the folder. It is set within a lab, because an ordinary user is root there. */
export const LABS_VARIABLE = 'WEIR_LABS'

/** `$WEIR_LABS`, else `$XDG_RUNTIME_DIR/weir/labs`, else `weir-UID/labs` in the temporary folder. */
export function labsFolder(): string {
  const { env } = process
  if (env[LABS_VARIABLE]) return env[LABS_VARIABLE]
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, 'weir', 'labs')
  return join(tmpdir(), `weir-${process.getuid?.() ?? 'user'}`, 'labs')
}

/**
 * Makes the folder of all labs if it does not exist. Throws WEIR_BAD_STATE when it, or its parent, belongs to
 * another user or is open to others, because its contents decide which processes `weir lab down` ends.
 */
export function prepareLabsFolder(folder: string = labsFolder()): string {
  makeFolder(folder, { use: 'labs', mend: `name another place with ${LABS_VARIABLE}`, mode: 0o700 })
  for (const one of [dirname(folder), folder]) checkOwner(one)
  return folder
}

/** Removes the folder of all labs and its parent when they are empty. */
export function removeLabsFolder(): void {
  const folder = labsFolder()
  try {
    rmdirSync(folder)
    rmdirSync(dirname(folder))
  } catch {
    // The folder is not empty.
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
