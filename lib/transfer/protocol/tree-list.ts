/**
 * What a tree holds, as one end lists it to the other. What stands in here has been checked: each name is one component, each
 * parent is a folder of the list, no name is there twice in a folder, and no link leads out. So nothing of it can name a place
 * outside the folder that the tree goes to.
 */
import { byteLengthOf } from '../../byte-text.js'
import { TransferFailure } from './failure.js'
import { isTime } from './file-time-range.js'
import type { TreeEntry } from './messages.js'
import { checkEntryName, DEPTH_MAX } from './names.js'

/** Folders, files and links of one tree. */
export const ENTRIES_MAX = 200_000
/** Memory for the names of a list, and for each entry beside its name. */
const LIST_BYTES_MAX = 16 << 20
const ENTRY_BYTES = 64
/** What a digest has beside its bytes. */
const DIGEST_HEAD_BYTES = 2
/** So that an entry fits a message. */
const TARGET_BYTES_MAX = 2048

/** Bytes that an entry takes in a list and, at most, in a message. */
export function entryBytes({ name, target, digest }: TreeEntry): number {
  const digestBytes = digest === undefined || digest.length === 0 ? 0 : DIGEST_HEAD_BYTES + digest.length
  return ENTRY_BYTES + digestBytes + byteLengthOf(name) + (target === '' ? 0 : byteLengthOf(target))
}

export class TreeList {
  /** Entry number n is at n - 1. */
  readonly entries: TreeEntry[] = []
  readonly #depths: number[] = []
  readonly #places = new Set<string>()
  #bytes = 0
  #fileBytes = 0
  #files = 0

  /** Bytes of all files. */
  get fileBytes(): number {
    return this.#fileBytes
  }

  get files(): number {
    return this.#files
  }

  /** The entry of that number, from 1. */
  of(number: number): TreeEntry {
    return this.entries[number - 1]!
  }

  /** Throws BAD_NAME, or PROTOCOL (WEIR_PROTOCOL) for what no list can hold. Returns the number of the entry. */
  add(entry: TreeEntry): number {
    checkEntryName(entry.name)
    this.#bytes += entryBytes(entry)
    if (this.entries.length >= ENTRIES_MAX || this.#bytes > LIST_BYTES_MAX) {
      const text = `more than ${ENTRIES_MAX} entries, or too many long names, are no tree of one transfer: send its folders one by one`
      throw new TransferFailure('UNSUPPORTED', text)
    }
    const depth = this.#depthBelow(entry)
    this.#checkNumbers(entry)
    if (entry.kind === 'SYMBOLIC_LINK') checkTarget(entry, depth - 1)
    const place = `${entry.parent}/${entry.name}`
    if (this.#places.has(place)) {
      throw new TransferFailure('BAD_NAME', `"${entry.name}" is twice in one folder`)
    }
    this.#places.add(place)
    this.#depths.push(depth)
    this.entries.push(entry)
    if (entry.kind === 'FILE') {
      this.#files++
      this.#fileBytes += entry.size
      if (!Number.isSafeInteger(this.#fileBytes)) throw broken('files of too many bytes')
    }
    return this.entries.length
  }

  /** Nothing more is added. */
  close(): void {
    this.#places.clear()
  }

  /** Path within the tree, for people. */
  pathOf(number: number): string {
    const names: string[] = []
    for (let at = number; at > 0; at = this.of(at).parent) names.push(this.of(at).name)
    return names.reverse().join('/')
  }

  #depthBelow({ parent }: TreeEntry): number {
    if (parent === 0) return 1
    if (parent > this.entries.length || this.of(parent).kind !== 'FOLDER')
      throw broken('an entry without folder')
    const depth = this.#depths[parent - 1]! + 1
    if (depth <= DEPTH_MAX) return depth
    throw new TransferFailure('BAD_NAME', `${this.pathOf(parent)}: a tree has at most ${DEPTH_MAX} levels`)
  }

  #checkNumbers(entry: TreeEntry): void {
    const { kind, size, sameAs } = entry
    if (!isTime(entry) || !Number.isSafeInteger(size) || size < 0) {
      throw broken('an entry whose size or time is out of range')
    }
    if (
      kind === 'HARD_LINK' &&
      (sameAs === 0 || sameAs > this.entries.length || this.of(sameAs).kind !== 'FILE')
    ) {
      throw broken('a hard link to no file')
    }
    if (!['FOLDER', 'FILE', 'SYMBOLIC_LINK', 'HARD_LINK'].includes(kind)) throw broken('an entry of no kind')
  }
}

/**
 * True if a link in a folder of that depth leads out of the tree, or may. Its ".." stand at the beginning, where no other link has been
 * passed, so that they can be counted.
 */
export function leadsOut(target: string, depth: number): boolean {
  if (target === '' || target.startsWith('/')) return true
  const components = target.split('/').filter(component => component !== '' && component !== '.')
  const up = components.filter(component => component === '..').length
  return up > depth || components.lastIndexOf('..') >= up
}

function checkTarget({ name, target }: TreeEntry, depth: number): void {
  if (target.includes('\0') || byteLengthOf(target) > TARGET_BYTES_MAX) {
    throw new TransferFailure(
      'BAD_NAME',
      `"${name}" is a link to no path, or to one longer than ${TARGET_BYTES_MAX} bytes`,
    )
  }
  if (!leadsOut(target, depth)) return
  const text = `the symbolic link "${name}" leads out of the tree, to "${target}": leave such links out with --links skip`
  throw new TransferFailure('BAD_NAME', text)
}

function broken(what: string): TransferFailure {
  return new TransferFailure('PROTOCOL', `the list of the tree is broken: ${what}`)
}
