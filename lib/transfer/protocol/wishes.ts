/** What a getter wants of a share, as it says it and as the server hears it, bounded. */
import { bytesOf } from '../../byte-text.js'
import { TransferFailure } from './failure.js'
import { shellMatcher } from './glob.js'
import {
  CHECKSUM_VERSION,
  type DigestKind,
  MESSAGE_BYTES_MAX,
  TRANSFER_VERSION,
  type Wish,
} from './messages.js'
import type { TreeList } from './tree-list.js'

/** Paths of one transfer, and globs of either kind. */
const WISH_PATHS_MAX = 1000
const GLOBS_MAX = 100
/** What a message has beside its texts, and each text beside its bytes. */
const HEAD_BYTES = 128
const TEXT_BYTES = 4
/** One text fits a message. */
const TEXT_BYTES_MAX = MESSAGE_BYTES_MAX - HEAD_BYTES

export interface Wishes {
  readonly paths: string[]
  readonly exclude: string[]
  readonly include: string[]
  readonly skipLinks: boolean
  /** Files are to be listed with digests of that kind. */
  readonly checksum: DigestKind | null
}

type TextKind = 'paths' | 'exclude' | 'include'
const KINDS: readonly TextKind[] = ['paths', 'exclude', 'include']

/** The messages that say it. Throws WEIR_REJECTED for more than a server takes. */
export function wishMessages(wishes: Wishes, transfer: Uint8Array): Wish[] {
  checkCounts(wishes)
  const empty = () => ({ paths: [] as string[], exclude: [] as string[], include: [] as string[] })
  const messages = [empty()]
  let bytes = HEAD_BYTES
  for (const kind of KINDS) {
    for (const text of wishes[kind]) {
      const more = TEXT_BYTES + bytesOf(text).length
      if (more > TEXT_BYTES_MAX)
        throw new TransferFailure('BAD_NAME', `a path or glob has at most ${TEXT_BYTES_MAX} bytes`)
      if (bytes + more > MESSAGE_BYTES_MAX) {
        messages.push(empty())
        bytes = HEAD_BYTES
      }
      bytes += more
      messages.at(-1)![kind].push(text)
    }
  }
  const { skipLinks } = wishes
  const checksum: Wish['checksum'] = wishes.checksum ?? 'DIGEST_UNSPECIFIED'
  const same = { version: versionOf(checksum), skipLinks, checksum, transfer }
  return messages.map((lists, i) => ({ ...same, ...lists, last: i === messages.length - 1 }))
}

/** Version of a wish. */
export function versionOf(checksum: Wish['checksum']): number {
  return checksum === 'DIGEST_UNSPECIFIED' ? TRANSFER_VERSION : CHECKSUM_VERSION
}

/** Adds what another message says. Throws UNSUPPORTED (WEIR_REJECTED). */
export function addWish(wishes: Wishes, wish: Wish): void {
  for (const kind of KINDS) wishes[kind].push(...wish[kind])
  checkCounts(wishes)
}

/**
 * The server lists what was asked for, and nothing else. Throws PROTOCOL (WEIR_PROTOCOL): a name that nobody has asked for could
 * be that of a file which the user of this end has, or one that programs of this end read, as `.bashrc`.
 */
export function checkAsked(paths: readonly string[], list: TreeList): void {
  if (paths.some(isContents)) return
  const wanted = paths.map(path => path.slice(path.lastIndexOf('/') + 1))
  const exact = new Set(wanted)
  const globs = wanted.map(nameMatcherIfAny)
  for (const { name, parent } of list.entries) {
    if (parent !== 0 || exact.has(name) || globs.some(matches => matches(name))) continue
    throw new TransferFailure('PROTOCOL', `the other end lists "${name}", which was not asked for`)
  }
}

/** True for `FOLDER/`, `.` and the like: what is in the folder is meant. */
export function isContents(path: string): boolean {
  return /(^|\/)\.{0,2}$/.test(path)
}

function nameMatcherIfAny(component: string): (name: string) => boolean {
  try {
    return shellMatcher(component)
  } catch {
    return () => false
  }
}

function checkCounts({ paths, exclude, include }: Wishes): void {
  if (paths.length > WISH_PATHS_MAX) {
    const text = `more than ${WISH_PATHS_MAX} paths in one transfer: name folders, or globs in quotes`
    throw new TransferFailure('UNSUPPORTED', text)
  }
  if (exclude.length + include.length > GLOBS_MAX)
    throw new TransferFailure('UNSUPPORTED', `more than ${GLOBS_MAX} globs in one transfer`)
}
