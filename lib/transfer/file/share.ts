/**
 * The folder whose files other hosts may get. Nothing outside it is opened: names are checked as those of the
 * inbox are (names.ts), links are followed only when they end inside, and after opening, the system is asked
 * what has been opened.
 */
import { constants } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotWritten } from '../../file-reason.js'
import { access, realpath, stat } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import { checkNotList, DELIVERED_NAME, directoryComponents, liesIn } from '../protocol/names.js'
import { isContents, type Wishes } from '../protocol/wishes.js'
import type { FileSource, ListedTree, SharedFiles } from './file.js'
import { type LocalSource, openRegular } from './file-source.js'
import { LocalTree, listFailure, type TreeRoot } from './local-tree.js'
import { foreignPathFilter } from './path-filter.js'
import { ShareGlobs } from './share-globs.js'

export class Share implements SharedFiles {
  /** Real path of the folder. */
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Throws WEIR_NO_FILE unless the folder is there and may be read. */
  static async at(folder: string): Promise<Share> {
    try {
      const real = await realpath(folder)
      if (!(await stat(real)).isDirectory()) throw new Error('it is no folder')
      await access(real, constants.R_OK | constants.X_OK)
      return new Share(real)
    } catch (cause) {
      const text = `cannot share ${folder}: ${whyNotWritten(cause)}; name a folder that the daemon may read with --share`
      throw new WeirError('WEIR_NO_FILE', text, { cause })
    }
  }

  async open(path: string): Promise<FileSource> {
    const components = directoryComponents(path, 'the share')
    // What is shared may be an inbox, or hold one.
    for (const name of components) checkNotList(name)
    if (components.length === 0) {
      throw new TransferFailure('NOT_A_FILE', 'the share itself is a folder: name a file in it')
    }
    let source: LocalSource | null = null
    try {
      const real = await realpath(join(this.folder, ...components))
      this.#check(real, path)
      source = await openRegular(real, components.join('/'))
      // Somebody may have put a link in the place of a folder since.
      this.#check(await source.realPath(), path)
      return source
    } catch (error) {
      await source?.close()
      throw refusalOf(error, path)
    }
  }

  async list({ paths, exclude, include, skipLinks, checksum }: Wishes, signal: Signal): Promise<ListedTree> {
    try {
      const chosen = foreignPathFilter(exclude, include)
      const admits = (path: string, isFolder: boolean) =>
        !basename(path).startsWith(DELIVERED_NAME) && chosen(path, isFolder)
      const globs = new ShareGlobs(this.folder, signal)
      const roots: TreeRoot[] = []
      for (const path of paths) for (const root of await this.#rootsOf(path, globs)) roots.push(root)
      const shown = (path: string) => `"${relative(this.folder, path)}"`
      const checkReal = (path: string) => this.#check(path, relative(this.folder, path))
      const options = { skipsLinks: skipLinks, admits, signal, shown, checkReal, checksum }
      return await LocalTree.begin(roots, options)
    } catch (error) {
      throw listFailure(error)
    }
  }

  /** As with a file, links are followed that end inside. */
  async #rootsOf(path: string, globs: ShareGlobs): Promise<TreeRoot[]> {
    const components = directoryComponents(path, 'the share')
    for (const name of components) checkNotList(name)
    const rootOf = (real: string, name: string) => {
      this.#check(real, path)
      return { path: real, name: isContents(path) ? '' : name }
    }
    try {
      const real = await realpath(join(this.folder, ...components))
      return [rootOf(real, components.at(-1) ?? '')]
    } catch (error) {
      if (error instanceof TransferFailure) throw error
      const found = await globs.expand(components)
      if (found.length === 0) throw refusalOf(error, path)
      return found.map(({ real, name }) => rootOf(real, name))
    }
  }

  #check(real: string, path: string): void {
    if (!liesIn(this.folder, real))
      throw new TransferFailure('NOT_ALLOWED', `"${path}" leads out of the share`)
  }
}

type Signal = Pick<AbortSignal, 'aborted'>

const refuse = async () => {
  throw new TransferFailure('NOT_ALLOWED', 'no files are shared there: its daemon runs without --share')
}

/** When the daemon shares nothing, which is the default. */
export const NOTHING_SHARED: SharedFiles = { open: refuse, list: refuse }

/** As the getter hears it: nothing about what lies outside. */
function refusalOf(error: unknown, path: string): TransferFailure {
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof TransferFailure) return error
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG')
    return new TransferFailure('NOT_FOUND', `there is no "${path}" in the share`)
  if (code === 'EACCES' || code === 'EPERM' || code === 'ELOOP')
    return new TransferFailure('NOT_ALLOWED', `the daemon there may not read "${path}"`)
  return TransferFailure.from(error, `cannot read "${path}"`)
}
