/** The folder of `weir get`: a user of this machine wants a file of another host in it. */
import { dirname, join } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotWritten } from '../../file-reason.js'
import { mkdir, realpath, stat } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import { checkName } from '../protocol/names.js'
import type { Arrivals } from './arrivals.js'
import type { FileSink, FileStore, FileUser } from './file.js'
import { Folder } from './folder.js'
import { whenFree } from './targets.js'
import type { TreePlace } from './tree-place.js'

export class DownloadFolder implements FileStore {
  readonly #folder: string
  readonly #arrivals: Arrivals

  private constructor(folder: string, arrivals: Arrivals) {
    this.#folder = folder
    this.#arrivals = arrivals
  }

  /** Throws WEIR_NO_FILE when there is no such folder. */
  static async at(folder: string, arrivals: Arrivals): Promise<DownloadFolder> {
    let real: string
    try {
      real = await realpath(folder)
    } catch (cause) {
      throw new WeirError('WEIR_NO_FILE', `cannot write into ${folder}: ${whyNotWritten(cause)}`, { cause })
    }
    if (!(await stat(real)).isDirectory()) {
      throw new WeirError('WEIR_NO_FILE', `cannot write into ${folder}: it is no folder`)
    }
    return new DownloadFolder(real, arrivals)
  }

  /** Ignores the offer's directory. */
  async open(offer: Offer, user: FileUser | null = null): Promise<FileSink> {
    checkName(offer.name)
    const path = join(this.#folder, offer.name)
    const open = async () => this.#arrivals.open(await Folder.open(this.#folder), offer, path, user)
    try {
      return await whenFree(open, user)
    } catch (error) {
      throw TransferFailure.from(error, `cannot create ${path}`)
    }
  }
}

/**
 * The folder of `weir get` for a tree. If it is missing it is made, in a folder that is there. Throws WEIR_NO_FILE when that cannot
 * be.
 */
export async function downloadPlace(folder: string, arrivals: Arrivals): Promise<TreePlace> {
  const there = await stat(folder).catch(() => null)
  if (there && !there.isDirectory())
    throw new WeirError('WEIR_NO_FILE', `cannot write into ${folder}: it is no folder`)
  try {
    await realpath(there ? folder : dirname(folder))
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `cannot write into ${folder}: ${whyNotWritten(cause)}`, { cause })
  }
  return {
    shownPath: folder,
    arrivals,
    isInbox: ({ path }) => path === arrivals.listFolder,
    enter: makes => enter(folder, makes),
  }
}

async function enter(folder: string, makes: boolean): Promise<Folder | null> {
  try {
    return await Folder.open(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw TransferFailure.from(error, `cannot write into ${folder}`)
  }
  if (!makes) return null
  try {
    await mkdir(folder, 0o777)
    return await Folder.open(folder)
  } catch (error) {
    throw TransferFailure.from(error, `cannot create ${folder}`)
  }
}
