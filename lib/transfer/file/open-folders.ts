/** The folders of a tree, open while somebody works in them, and some more. Each is opened from the one above, and no link is followed. */
import type { TreeList } from '../protocol/tree-list.js'
import type { Folder } from './folder.js'

/** Folders that stay open although nobody works in them. */
const IDLE_MAX = 64

interface OpenFolder {
  readonly folder: Promise<Folder>
  users: number
}

export class OpenFolders {
  readonly #root: Folder
  readonly #list: TreeList
  readonly #makes: boolean
  readonly #open = new Map<number, OpenFolder>()

  /**
   * @param root the folder that the tree is in; closed with the others
   * @param makes whether folders that are missing are made, and those that are there made writable for their owner
   */
  constructor(root: Folder, list: TreeList, makes: boolean) {
    this.#root = root
    this.#list = list
    this.#makes = makes
  }

  /** Works in the folder of that number, 0 = the root. The system says ENOENT if it is missing. */
  async use<T>(number: number, work: (folder: Folder) => Promise<T>): Promise<T> {
    if (number === 0) return await work(this.#root)
    const entry = this.#entry(number)
    entry.users++
    try {
      return await work(await entry.folder)
    } finally {
      entry.users--
      this.#closeIdle()
    }
  }

  /** Closes all. Call when nobody works in them. */
  async close(): Promise<void> {
    for (const { folder } of this.#open.values()) await folder.then(open => open.close()).catch(() => {})
    this.#open.clear()
    await this.#root.close()
  }

  /** The latest user's comes last. */
  #entry(number: number): OpenFolder {
    const entry = this.#open.get(number) ?? { folder: this.#enter(number), users: 0 }
    this.#open.delete(number)
    this.#open.set(number, entry)
    entry.folder.catch(() => this.#open.delete(number))
    return entry
  }

  async #enter(number: number): Promise<Folder> {
    const { name, parent } = this.#list.of(number)
    return await this.use(parent, async above => {
      if (!this.#makes) return await above.enterOwn(name)
      await above.makeFolderIfMissing(name)
      const folder = await above.enterOwn(name)
      // An earlier transfer may have given it a mode without that. One that the system refuses shows when something is made in it.
      await folder.makeWritable().catch(() => {})
      return folder
    })
  }

  #closeIdle(): void {
    for (const [number, { folder, users }] of this.#open) {
      if (this.#open.size <= IDLE_MAX) return
      if (users > 0) continue
      this.#open.delete(number)
      void folder.then(open => open.close()).catch(() => {})
    }
  }
}
