/**
 * What the folders of a tree have at its destination and not at its source. `find` lists it before anything moves, `remove` deletes what has
 * been listed, after all else has succeeded. No link is followed, and no other file system entered.
 */
import { stepFault } from '../fault-points.js'
import { TransferFailure } from '../protocol/failure.js'
import { DELIVERED_NAME, isPartialName } from '../protocol/names.js'
import { ENTRIES_MAX, type TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import { Breather } from './breather.js'
import type { Folder } from './folder.js'
import type { Looked } from './looked.js'
import type { OpenFolders } from './open-folders.js'
import type { Admits } from './path-filter.js'

/** Levels below a folder of the tree: one descriptor each is open. */
const LEVELS_MAX = 64

export interface DeletionRules {
  /** What lies right in the folder that the tree goes to is deleted too: the contents of a folder were sent, and not the folder. */
  inRoot: boolean
  /** There are things that were named, whose paths begin with their names. */
  hasNamed: boolean
  /** Things that may be deleted; more is an error. */
  most: number
  /** Things of the source that are not in its list. */
  leftOut: number
  /** What this does not admit stays. */
  admits: Admits
}

/** Something that is to be deleted. */
interface Doomed {
  name: string
  stat: Looked
  /** What in a folder is to be deleted; null: it is no folder. */
  inside: Doomed[] | null
  /** False: a folder in which something stays. */
  goes: boolean
}

export class Deletions {
  files = 0
  folders = 0
  /** Paths of all of them, from the folder that the tree goes to. Those of folders end with a slash. */
  readonly paths: string[] = []
  readonly #list: TreeList
  readonly #rules: DeletionRules
  readonly #breather = new Breather()
  readonly #check: () => void
  /** By the number of their folder. */
  readonly #doomed = new Map<number, Doomed[]>()

  /**
   * @param isThere whether there is a folder of that number
   * @param check throws when nobody needs the answer any more
   * Throws NOT_ALLOWED (WEIR_REJECTED) if more would go than may.
   */
  static async find(
    list: TreeList,
    open: OpenFolders,
    rules: DeletionRules,
    isThere: (folder: number) => boolean,
    check: () => void,
  ): Promise<Deletions> {
    checkNothingLeftOut(rules)
    const deletions = new Deletions(list, rules, check)
    for (const [number, listed] of deletions.#listedNames()) {
      if (isThere(number)) await deletions.#findIn(open, number, listed)
    }
    deletions.#checkCount()
    return deletions
  }

  private constructor(list: TreeList, rules: DeletionRules, check: () => void) {
    this.#list = list
    this.#rules = rules
    this.#check = check
  }

  /** What somebody has replaced since stays, and a folder into which somebody has put something. */
  async remove(open: OpenFolders): Promise<void> {
    for (const [number, doomed] of this.#doomed) {
      await open.use(number, folder => removeAll(folder, doomed, this.#pathBelow(number)))
    }
  }

  /** The names that stay, for each folder of the tree. */
  #listedNames(): Map<number, Set<string>> {
    const names = new Map<number, Set<string>>()
    if (this.#rules.inRoot) names.set(0, new Set())
    for (const [i, { kind }] of this.#list.entries.entries())
      if (kind === 'FOLDER') names.set(i + 1, new Set())
    for (const { parent, name } of this.#list.entries) names.get(parent)?.add(name)
    return names
  }

  async #findIn(open: OpenFolders, number: number, listed: ReadonlySet<string>): Promise<void> {
    const below = this.#pathBelow(number)
    await open.use(number, async folder => {
      const doomed = await this.#lookInto(folder, below, 0, listed)
      if (doomed.length > 0) this.#doomed.set(number, doomed)
    })
  }

  /** What in the folder is to go, and folders in which something is. */
  async #lookInto(
    folder: Folder,
    below: string,
    level: number,
    listed?: ReadonlySet<string>,
  ): Promise<Doomed[]> {
    const doomed: Doomed[] = []
    try {
      for await (const { name } of folder.entries()) {
        await this.#breather.breathe()
        this.#check()
        if (listed?.has(name)) continue
        const one = await this.#judge(folder, name, below, level)
        if (one !== null) doomed.push(one)
      }
    } catch (error) {
      throw TransferFailure.from(error, `cannot list ${below || 'the folder'}`)
    }
    return doomed
  }

  /** Null if it stays, with all that is in it. */
  async #judge(folder: Folder, name: string, below: string, level: number): Promise<Doomed | null> {
    const path = below + name
    const stat = await folder.look(name)
    if (stat === null || isOwn(name) || !this.#mayGo(path, stat.isDirectory())) return null
    if (!stat.isDirectory()) {
      this.files++
      this.#note(path)
      return { name, stat, inside: null, goes: true }
    }
    return await this.#judgeFolder(folder, { name, stat, inside: [], goes: true }, path, level)
  }

  async #judgeFolder(above: Folder, doomed: Doomed, path: string, level: number): Promise<Doomed | null> {
    if (level >= LEVELS_MAX) throw new TransferFailure('NOT_ALLOWED', `${path} lies too deep to be deleted`)
    const folder = await above.enterOwn(doomed.name)
    try {
      const own = await folder.look('.')
      if (own === null || own.dev !== (await above.look('.'))?.dev) return null
      let names = 0
      for await (const _ of folder.entries()) names++
      doomed.inside = await this.#lookInto(folder, `${path}/`, level + 1)
      doomed.goes = doomed.inside.length === names && doomed.inside.every(({ goes }) => goes)
    } finally {
      await folder.close()
    }
    if (doomed.goes) {
      this.folders++
      this.#note(`${path}/`)
    } else if (doomed.inside.length === 0) return null
    return doomed
  }

  #note(path: string): void {
    this.paths.push(path)
    if (this.paths.length > ENTRIES_MAX)
      throw new TransferFailure(
        'NOT_ALLOWED',
        `more than ${ENTRIES_MAX} things would be deleted: nothing was changed`,
      )
  }

  /** Paths that are filtered begin below a thing that was named. Where some were named and others not, both readings have to admit it. */
  #mayGo(path: string, isFolder: boolean): boolean {
    const { inRoot, hasNamed, admits } = this.#rules
    if (inRoot && !admits(path, isFolder)) return false
    return !hasNamed || admits(path.slice(path.indexOf('/') + 1), isFolder)
  }

  #pathBelow(number: number): string {
    return number === 0 ? '' : `${this.#list.pathOf(number)}/`
  }

  #checkCount(): void {
    const { most } = this.#rules
    const count = this.files + this.folders
    if (count <= most) return
    const text = `${count} files and folders would be deleted, at most ${most} may be: nothing was changed`
    throw new TransferFailure('NOT_ALLOWED', text)
  }
}

/** Names that are in no list. */
function isOwn(name: string): boolean {
  return isPartialName(name) || name.startsWith(DELIVERED_NAME)
}

/** A name that was left out is not in the list: what has it at the destination would look as if the source did not have it. */
function checkNothingLeftOut({ leftOut }: DeletionRules): void {
  if (leftOut === 0) return
  const text = `${leftOut} things of the source were left out (sockets, pipes, devices, links that lead out), and what has their names would be deleted: exclude them (--exclude)`
  throw new TransferFailure('NOT_ALLOWED', text)
}

async function removeAll(folder: Folder, doomed: readonly Doomed[], below: string): Promise<void> {
  const files = doomed.filter(({ inside }) => inside === null)
  await forEachAtOnce(files, one => guarded(below + one.name, () => removeFile(folder, one)))
  for (const one of doomed) {
    const path = below + one.name
    if (one.inside !== null) await guarded(path, () => removeFolder(folder, one, `${path}/`))
  }
}

async function removeFile(folder: Folder, { name, stat }: Doomed): Promise<void> {
  const there = await folder.look(name)
  const isSame =
    there !== null && isSameThing(there, stat) && there.mtimeMs === stat.mtimeMs && there.size === stat.size
  if (!isSame) return
  stepFault('deletes')
  await folder.removeIfThere(name)
  stepFault('deleted')
}

async function removeFolder(
  above: Folder,
  { name, stat, inside, goes }: Doomed,
  below: string,
): Promise<void> {
  const there = await above.look(name)
  if (there === null || !isSameThing(there, stat)) return
  const folder = await above.enterOwn(name)
  try {
    const own = await folder.look('.')
    if (own === null || !isSameThing(own, stat)) return
    // What the system refuses shows when something is removed in it.
    await folder.makeWritable().catch(() => {})
    await removeAll(folder, inside!, below)
  } finally {
    await folder.close()
  }
  if (!goes) return
  stepFault('deletes')
  await above.removeFolder(name).catch(error => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code)) throw error
  })
  stepFault('deleted')
}

function isSameThing(a: Looked, b: Looked): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

async function guarded(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw TransferFailure.from(error, `cannot delete ${path}`)
  }
}
