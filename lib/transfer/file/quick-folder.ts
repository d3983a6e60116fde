/** The synchronous calls in an open folder: see haste.ts. Only where names are resolved from its descriptor. */
import fs, { constants, type Stats } from 'node:fs'
import { fsPath } from '../../byte-text.js'

export class QuickFolder {
  readonly #at: string

  /** @param at a path that leads to the folder by its descriptor */
  constructor(at: string) {
    this.#at = at
  }

  /** Returns a descriptor. @param flags O_NOFOLLOW is added */
  open(name: string, flags: number, mode?: number): number {
    return fs.openSync(this.#path(name), flags | constants.O_NOFOLLOW, mode)
  }

  /** Null if nothing has that name. Follows no link. */
  look(name: string): Stats | null {
    return fs.lstatSync(this.#path(name), { throwIfNoEntry: false }) ?? null
  }

  link(from: string, to: string): void {
    fs.linkSync(this.#path(from), this.#path(to))
  }

  rename(from: string, to: string): void {
    fs.renameSync(this.#path(from), this.#path(to))
  }

  /** Removes what has that name, if anything has. */
  removeIfThere(name: string): void {
    try {
      fs.unlinkSync(this.#path(name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  #path(name: string): string | Buffer {
    return fsPath(`${this.#at}/${name}`)
  }
}
