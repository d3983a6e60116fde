/** The server lists nothing that the getter has left out by its globs: whether it does so is the server's doing, and the getter looks. */
import { TransferFailure } from '../protocol/failure.js'
import type { TreeList } from '../protocol/tree-list.js'
import { isContents, type Wishes } from '../protocol/wishes.js'
import { Breather } from './breather.js'
import { foreignPathFilter } from './path-filter.js'

/** Throws PROTOCOL (WEIR_PROTOCOL). */
export async function checkFilters({ paths, exclude, include }: Wishes, list: TreeList): Promise<void> {
  if (exclude.length + include.length === 0) return
  const admits = foreignPathFilter(exclude, include)
  const breather = new Breather()
  const mayBeContents = paths.some(isContents)
  const mayBeNamed = !paths.every(isContents)
  for (const [i, { kind }] of list.entries.entries()) {
    await breather.breathe()
    const path = list.pathOf(i + 1)
    const isFolder = kind === 'FOLDER'
    // Paths that are filtered begin below a folder that was named. Where both kinds of path were asked for, either will do.
    if (mayBeContents && admits(path, isFolder)) continue
    if (mayBeNamed && admitsNamed(path, isFolder, admits)) continue
    throw new TransferFailure('PROTOCOL', `the other end lists "${path}", which was to be left out`)
  }
}

function admitsNamed(path: string, isFolder: boolean, admits: (path: string, isFolder: boolean) => boolean) {
  const slash = path.indexOf('/')
  return slash < 0 ? isFolder || admits(path, false) : admits(path.slice(slash + 1), isFolder)
}
