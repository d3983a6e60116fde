/** Removes what interrupted transfers have left in a folder and nobody came back for. */

import { DEPTH_MAX, isPartialName } from '../protocol/names.js'
import { Folder } from './folder.js'

/** Names that are looked at: an inbox that holds more is not swept to its end. */
const ENTRIES_MAX = 100_000

/**
 * Removes unfinished files that were last written before `beforeMs` (milliseconds since 1970), in `folder` and
 * below; at any age, temporary names of files that have their own. Follows no links, and goes on where it may not read or
 * remove something. Returns how many it removed.
 */
export async function sweepPartials(folder: string, beforeMs: number): Promise<number> {
  const sweep = { beforeMs, entriesLeft: ENTRIES_MAX, removed: 0 }
  await sweepFolder(Folder.open(folder), 0, sweep)
  return sweep.removed
}

interface Sweep {
  readonly beforeMs: number
  entriesLeft: number
  removed: number
}

async function sweepFolder(opening: Promise<Folder>, depth: number, sweep: Sweep): Promise<void> {
  const folder = await opening.catch(() => null)
  if (!folder) return
  try {
    for await (const { name, isDirectory, isFile } of folder.entries()) {
      if (sweep.entriesLeft-- <= 0) return
      if (isDirectory && depth < DEPTH_MAX) await sweepFolder(folder.enterOwn(name), depth + 1, sweep)
      else if (isFile && isPartialName(name)) await removeOld(folder, name, sweep)
    }
  } catch {
    // It may not be read, or has gone.
  } finally {
    await folder.close()
  }
}

async function removeOld(folder: Folder, name: string, sweep: Sweep): Promise<void> {
  try {
    const there = await folder.look(name)
    if (!there || (there.mtimeMs >= sweep.beforeMs && there.nlink === 1)) return
    await folder.remove(name)
    sweep.removed++
  } catch {
    // It has gone, or belongs to somebody else.
  }
}
