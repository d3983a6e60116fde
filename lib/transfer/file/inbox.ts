/**
 * The folder that receives files. Nothing is created, read or renamed outside it: names are checked
 * (names.ts), folders are opened one component at a time, each from the one before, and the kernel is asked
 * where what was opened lies (folder.ts). The file itself is never opened through a symbolic link.
 */
import { join } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotWritten } from '../../file-reason.js'
import { realpath, stat } from '../../fs-by-text.js'
import { makeFolder } from '../../make-folder.js'
import { TransferFailure } from '../protocol/failure.js'
import type { Offer } from '../protocol/messages.js'
import { checkName, checkNotList, directoryComponents } from '../protocol/names.js'
import { Arrivals } from './arrivals.js'
import type { FileSink, FileStore, FileUser } from './file.js'
import { Folder } from './folder.js'
import { whenFree } from './targets.js'
import type { TreeFolders, TreePlace } from './tree-place.js'

/** A folder that is open, and the one in it that was entered. */
interface Step {
  readonly folder: Folder
  readonly name: string
  isNew: boolean
}

export class Inbox implements FileStore, TreeFolders {
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
      const real = await realpath(folder)
      await arrivals.keepIn(real)
      return new Inbox(real, arrivals)
    } catch (cause) {
      throw new WeirError('WEIR_NO_FILE', `cannot use ${folder} as inbox: ${whyNotWritten(cause)}`, {
        cause,
      })
    }
  }

  async open(offer: Offer, user: FileUser | null = null): Promise<FileSink> {
    checkName(offer.name)
    if (offer.nameInFolder) checkName(offer.nameInFolder)
    const components = directoryComponents(offer.directory, 'the inbox')
    return await whenFree(() => this.#inTurn(() => this.#open(offer, components, user)), user)
  }

  /** The folder of that path within the inbox, for a tree. Throws BAD_NAME. */
  treePlace(directory: string): TreePlace {
    const components = directoryComponents(directory, 'the inbox')
    const enter = (makes: boolean) => this.#inTurn(() => this.#enterFor(components, makes))
    return {
      shownPath: components.join('/'),
      isInbox: folder => folder.path === this.folder,
      arrivals: this.#arrivals,
      enter,
    }
  }

  async #enterFor(components: readonly string[], makes: boolean): Promise<Folder | null> {
    const way: Step[] = []
    try {
      return await this.#enter(components, way, makes)
    } catch (error) {
      if (!makes && (error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw TransferFailure.from(error, `cannot create ${components.join('/')}`)
    } finally {
      for (const { folder } of way) await folder.close()
    }
  }

  async #inTurn<T>(open: () => Promise<T>): Promise<T> {
    const opening = this.#turn.then(open)
    this.#turn = opening.catch(() => {})
    return await opening
  }

  /** Folders that were made for an offer which is refused after all are removed again. */
  async #open(offered: Offer, parents: readonly string[], user: FileUser | null): Promise<FileSink> {
    const { offer, components } = await this.#placed(offered, parents)
    const way: Step[] = []
    let isOpen = false
    try {
      const folder = await this.#enter(components, way)
      await this.#checkNotList(folder, offer.name)
      const sink = await this.#arrivals.open(folder, offer, join(...components, offer.name), user)
      isOpen = true
      return sink
    } catch (error) {
      throw TransferFailure.from(error, `cannot create ${components.concat(offer.name).join('/')}`)
    } finally {
      for (const { folder, name, isNew } of way.reverse()) {
        if (isNew && !isOpen) await folder.removeFolder(name).catch(() => {})
        await folder.close()
      }
    }
  }

  /** Closes the folder where it is the inbox and the name is its list's. Throws BAD_NAME then. */
  async #checkNotList(folder: Folder, name: string): Promise<void> {
    try {
      if (folder.path === this.folder) checkNotList(name)
    } catch (error) {
      await folder.close()
      throw error
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

  /** Opens the last folder, and notes the way in `way`. @param makes whether folders that are missing are made */
  async #enter(components: readonly string[], way: Step[], makes = true): Promise<Folder> {
    const inbox = await Folder.open(this.folder)
    let folder = inbox
    for (const name of components) {
      const step: Step = { folder, name, isNew: false }
      way.push(step)
      if (folder.path === inbox.path) checkNotList(name)
      if (makes) step.isNew = await folder.makeFolderIfMissing(name)
      folder = await folder.enter(name, inbox.path)
    }
    return folder
  }
}
