/**
 * The folder that receives files. Nothing is created, read or renamed outside it: names are checked
 * (names.ts), folders are walked one component at a time and their real place is looked at, and the file
 * itself is never opened through a symbolic link.
 */
import { join } from 'node:path'
import { WeirError } from '../errors.js'
import { whyNotWritten } from '../file-reason.js'
import { mkdir, realpath, rmdir, stat } from '../fs-by-text.js'
import { makeFolder } from '../make-folder.js'
import { Arrivals } from './arrivals.js'
import { TransferFailure } from './failure.js'
import type { FileSink, FileStore } from './file.js'
import type { Offer } from './messages.js'
import { checkName, directoryComponents, liesIn } from './names.js'

export class Inbox implements FileStore {
  /** Real path of the folder. */
  readonly folder: string
  readonly #arrivals: Arrivals
  /** The opening under way: one at a time, so that none removes a folder which another is about to use. */
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(folder: string, arrivals: Arrivals) {
    this.folder = folder
    this.#arrivals = arrivals
  }

  /** Makes the folder if it is missing. Throws WEIR_NO_FILE when that fails. */
  static async at(folder: string, arrivals: Arrivals = new Arrivals()): Promise<Inbox> {
    makeFolder(folder, { use: 'the inbox', mend: 'choose another with --inbox', mode: 0o700 })
    try {
      return new Inbox(await realpath(folder), arrivals)
    } catch (cause) {
      throw new WeirError('WEIR_NO_FILE', `cannot use ${folder} as inbox: ${whyNotWritten(cause)}`, {
        cause,
      })
    }
  }

  async open(offer: Offer): Promise<FileSink> {
    checkName(offer.name)
    if (offer.nameInFolder) checkName(offer.nameInFolder)
    const components = directoryComponents(offer.directory, 'the inbox')
    const opening = this.#turn.then(() => this.#open(offer, components))
    this.#turn = opening.catch(() => {})
    return await opening
  }

  /** Folders that were made for an offer which is refused after all are removed again. */
  async #open(offered: Offer, parents: readonly string[]): Promise<FileSink> {
    const made: string[] = []
    const { offer, components } = await this.#placed(offered, parents)
    try {
      const folder = await this.#enter(components, made)
      return await this.#arrivals.open(folder, offer, join(...components, offer.name))
    } catch (error) {
      for (const folder of made.reverse()) await rmdir(folder).catch(() => {})
      throw TransferFailure.from(error, `cannot create ${components.concat(offer.name).join('/')}`)
    }
  }

  /** As cp has it: what is to be named as a folder that is there goes into that folder. */
  async #placed(
    offer: Offer,
    parents: readonly string[],
  ): Promise<{ offer: Offer; components: readonly string[] }> {
    const { name, nameInFolder = '' } = offer
    if (nameInFolder === '') return { offer, components: parents }
    const there = await stat(join(this.folder, ...parents, name)).catch(() => null)
    if (!there?.isDirectory()) return { offer, components: parents }
    return { offer: { ...offer, name: nameInFolder, nameInFolder: '' }, components: [...parents, name] }
  }

  /** Makes the folders that are missing, notes them in `made`, and returns the real path of the last one. */
  async #enter(components: readonly string[], made: string[]): Promise<string> {
    let folder = this.folder
    for (const component of components) {
      const next = join(folder, component)
      await mkdir(next, 0o700).then(
        () => made.push(next),
        error => {
          if (error.code !== 'EEXIST') throw error
        },
      )
      folder = await realpath(next)
      if (!liesIn(this.folder, folder)) {
        throw new TransferFailure('BAD_NAME', `"${component}" leads out of the inbox`)
      }
    }
    return folder
  }
}
