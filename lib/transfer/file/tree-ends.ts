/** What of a tree is made when all its files are there: links, and modes and times of folders. */
import { constants } from 'node:fs'
import { TransferFailure } from '../protocol/failure.js'
import type { TreeEntry } from '../protocol/messages.js'
import { partialName } from '../protocol/names.js'
import type { TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { setTimeOf } from './file-time.js'
import type { Folder } from './folder.js'
import { giveName } from './give-name.js'
import type { OpenFolders } from './open-folders.js'

/** Makes the links that are not there yet. */
export async function makeLinks(list: TreeList, folders: OpenFolders, overwrite: boolean): Promise<void> {
  const links = list.entries.filter(({ kind }) => kind === 'SYMBOLIC_LINK' || kind === 'HARD_LINK')
  await forEachAtOnce(links, async entry => {
    await folders
      .use(entry.parent, async folder => {
        if (entry.kind === 'SYMBOLIC_LINK') await makeSymbolicLink(folder, entry, overwrite)
        else await makeHardLink(list, folders, folder, entry, overwrite)
      })
      .catch(error => {
        throw TransferFailure.from(error, `cannot make the link ${entry.name}`)
      })
  })
}

/** Sets modes and times of files whose contents were there. */
export async function touchFiles(
  list: TreeList,
  folders: OpenFolders,
  numbers: readonly number[],
): Promise<void> {
  await forEachAtOnce(numbers, async number => {
    const entry = list.of(number)
    const { name, parent, mode } = entry
    try {
      await folders.use(parent, async folder => {
        const handle = await folder.openFile(name, constants.O_RDONLY | constants.O_NONBLOCK)
        try {
          await handle.chmod(mode & 0o777)
          await setTimeOf(handle, entry)
        } finally {
          await handle.close()
        }
      })
    } catch (error) {
      throw TransferFailure.from(error, `cannot set mode and time of ${list.pathOf(number)}`)
    }
  })
}

/** Deepest folders first, because what is made in a folder changes its time. All names are on the disk then. */
export async function settleFolders(list: TreeList, folders: OpenFolders): Promise<void> {
  for (let number = list.entries.length; number > 0; number--) {
    const entry = list.of(number)
    if (entry.kind !== 'FOLDER') continue
    try {
      await folders.use(number, async folder => {
        await folder.setModeAndTime(entry.mode & 0o777, entry)
        await folder.sync()
      })
    } catch (error) {
      throw TransferFailure.from(error, `cannot set mode and time of the folder ${list.pathOf(number)}`)
    }
  }
  await folders.use(0, folder => folder.sync())
}

async function makeSymbolicLink(folder: Folder, entry: TreeEntry, overwrite: boolean): Promise<void> {
  const there = await folder.look(entry.name)
  if (there?.isSymbolicLink() && (await folder.readLink(entry.name)) === entry.target) return
  await replace(folder, entry, overwrite, partial => folder.makeLink(partial, entry.target, entry))
}

async function makeHardLink(
  list: TreeList,
  folders: OpenFolders,
  folder: Folder,
  entry: TreeEntry,
  overwrite: boolean,
): Promise<void> {
  const first = list.of(entry.sameAs)
  await folders.use(first.parent, async firstFolder => {
    const file = await firstFolder.look(first.name)
    const there = await folder.look(entry.name)
    if (file && there && file.dev === there.dev && file.ino === there.ino) return
    await replace(folder, entry, overwrite, partial => firstFolder.linkInto(first.name, folder, partial))
  })
}

/** Makes it by a temporary name first, which a daemon that was killed may have left. */
async function replace(
  folder: Folder,
  entry: TreeEntry,
  overwrite: boolean,
  make: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = partialName(entry)
  await folder.removeIfThere(partial)
  await make(partial)
  try {
    await giveName(folder, partial, { name: entry.name, overwrite })
  } catch (error) {
    await folder.removeIfThere(partial)
    throw error
  }
}
