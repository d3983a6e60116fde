/** The folder of `weir get`: a user of this machine wants a file of another host in it. */
import { join } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotWritten } from '../../file-reason.js'
import { realpath, stat } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import { checkName } from '../protocol/names.js'
import type { Arrivals } from './arrivals.js'
import type { FileSink, FileStore, FileUser } from './file.js'
import { Folder } from './folder.js'
import { whenFree } from './targets.js'

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
