/** Where a tree goes: the inbox, or a folder in it. */
import { WeirError } from '../../errors.js'
import type { Arrivals } from './arrivals.js'
import type { Folder } from './folder.js'

/** The folder that a tree goes to. */
export interface TreePlace {
  /** Path of the folder that users see, '' = the inbox itself. */
  readonly shownPath: string
  readonly arrivals: Arrivals
  /** The folder is the inbox, which has a list of its own. A link in the inbox may lead to it. */
  isInbox(folder: Folder): boolean
  /** Opens it; where it is missing, makes it or returns null. */
  enter(makes: boolean): Promise<Folder | null>
}

export interface TreeFolders {
  /** The folder of that path. Throws BAD_NAME. */
  treePlace(directory: string): TreePlace
}

/** Where no trees are received. */
export const NO_TREES: TreeFolders = {
  treePlace: () => {
    throw new WeirError('WEIR_REJECTED', 'no trees are received there')
  },
}
