/** Removes what interrupted transfers have left in a folder and nobody came back for. */
import { join } from 'node:path'
import { entriesOf, lstat, unlink } from '../fs-by-text.js'
import { DEPTH_MAX, isPartialName } from './names.js'

/** Names that are looked at: an inbox that holds more is not swept to its end. */
const ENTRIES_MAX = 100_000

/**
 * Removes unfinished files that were last written before `beforeMs` (milliseconds since 1970), in `folder` and
 * below. Follows no links, and goes on where it may not read or remove something. Returns how many it removed.
 */
export async function sweepPartials(folder: string, beforeMs: number): Promise<number> {
  const sweep = { beforeMs, entriesLeft: ENTRIES_MAX, removed: 0 }
  await sweepFolder(folder, 0, sweep)
  return sweep.removed
}

interface Sweep {
  readonly beforeMs: number
  entriesLeft: number
  removed: number
}

async function sweepFolder(folder: string, depth: number, sweep: Sweep): Promise<void> {
  try {
    for await (const { name, isDirectory, isFile } of entriesOf(folder)) {
      if (sweep.entriesLeft-- <= 0) return
      const path = join(folder, name)
      if (isDirectory && depth < DEPTH_MAX) await sweepFolder(path, depth + 1, sweep)
      else if (isFile && isPartialName(name)) await removeOld(path, sweep)
    }
  } catch {
    // It may not be read, or has gone.
  }
}

async function removeOld(path: string, sweep: Sweep): Promise<void> {
  try {
    if ((await lstat(path)).mtimeMs >= sweep.beforeMs) return
    await unlink(path)
    sweep.removed++
  } catch {
    // It has gone, or belongs to somebody else.
  }
}
