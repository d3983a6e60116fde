/** How a file that is whole gets its name. */
import { stepFault } from '../fault-points.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Folder } from './folder.js'
import type { Looked, Stated } from './looked.js'
import { hasNoLinks, nameTaken } from './name-taken.js'

/** Replaces a file of that name only with `overwrite`. */
export async function giveName(
  folder: Folder,
  partial: string,
  { name, overwrite }: { name: string; overwrite: boolean },
): Promise<void> {
  stepFault('names file')
  if (overwrite) await folder.rename(partial, name)
  else await renameWithoutReplacing(folder, partial, name)
  stepFault('named file')
}

/**
 * link + unlink: unlike rename, it fails when somebody has made the target in the meantime. A daemon that is killed between
 * the two leaves both names, and the next that is offered the file removes the temporary one (arrivals.ts).
 */
async function renameWithoutReplacing(folder: Folder, from: string, to: string): Promise<void> {
  try {
    await folder.link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw nameTaken()
    if (!hasNoLinks(error)) throw error
    await folder.rename(from, to)
    return
  }
  await folder.removeIfThere(from)
}

/**
 * Who may write into the folder can put something else in the place of the temporary name. And a program that waits for files may
 * have moved this one already.
 *
 * On some file systems (FUSE, CIFS) a file's inode changes when it gets another name. There nothing proves that it is the same file; but
 * one with its size and time that belongs to this user was made by this user.
 */
export async function checkPlace(folder: Folder, name: string, file: Stated): Promise<Looked | null> {
  return checkIsThat(await folder.look(name), name, file)
}

/** The same for what was found by the name. */
export function checkIsThat(there: Looked | null, name: string, file: Stated): Looked | null {
  if (!there || (there.dev === file.dev && there.ino === file.ino)) return there
  const isLikely = there.isFile() && there.dev === file.dev && there.uid === file.uid && there.nlink === 1
  if (isLikely && there.size === file.size && there.mtimeMs === file.mtimeMs) return there
  throw new TransferFailure('IO_ERROR', `${name} was replaced by somebody while it was given its name`)
}
