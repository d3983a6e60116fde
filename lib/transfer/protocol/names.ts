/**
 * Names that a peer asks for, checked before they touch the file system. Nothing that passes here can name a
 * place outside the folder it is joined to.
 */
import { hash } from 'node:crypto'
import { relative, sep } from 'node:path'
import { byteLengthOf, bytesOf } from '../../byte-text.js'
import { TransferFailure } from './failure.js'
import type { Offer } from './messages.js'

/** Longest name of most file systems, bytes. */
const NAME_BYTES_MAX = 255
/** Folders below the inbox or the share that one path may name. */
export const DEPTH_MAX = 32
/** In the name of every temporary file, and in no other. */
const PARTIAL_MARK = '.weir-partial-'

/** The inbox's list of what was delivered; names in the inbox itself that begin so are not for files. */
export const DELIVERED_NAME = '.weir-delivered'

const PARTIAL_NAME = /^\..+\.weir-partial-[0-9a-f]{16}$/s

/** True for the temporary name of a transfer that is under way or was interrupted. */
export function isPartialName(name: string): boolean {
  return PARTIAL_NAME.test(name)
}

/** True if `path` is `folder` or lies in it; both are real paths. */
export function liesIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !way.startsWith(sep)
}

/** Throws BAD_NAME unless `name` can be the name of one file in a folder. */
export function checkName(name: string): void {
  const wrong = whatIsWrong(name)
  if (wrong) throw new TransferFailure('BAD_NAME', `"${name}" cannot be the name of a file here: ${wrong}`)
}

/** Throws BAD_NAME unless `name` can be a name in a folder of this system. */
export function checkEntryName(name: string): void {
  const wrong = sep === '\\' ? whatIsWrong(name) : whatIsWrong(name.replaceAll('\\', '_'))
  if (wrong) throw new TransferFailure('BAD_NAME', `"${name}" cannot be the name of a file here: ${wrong}`)
}

/** Throws BAD_NAME for a name in the inbox, or in what is shared, that is the list's. */
export function checkNotList(name: string): void {
  if (!name.startsWith(DELIVERED_NAME)) return
  const text = `"${name}" cannot be the name of a file here: it is the name of the inbox's own list`
  throw new TransferFailure('BAD_NAME', text)
}

/**
 * The components of a path below a folder, which `within` names for messages. Throws BAD_NAME when one leads, or
 * could lead, elsewhere.
 */
export function directoryComponents(directory: string, within: string): string[] {
  if (directory === '') return []
  if (directory.startsWith('/')) {
    throw new TransferFailure('BAD_NAME', `"${directory}" is absolute: name a path within ${within}`)
  }
  const components = directory.split('/').filter(component => component !== '' && component !== '.')
  if (components.length > DEPTH_MAX) {
    throw new TransferFailure('BAD_NAME', `a path within ${within} has at most ${DEPTH_MAX} components`)
  }
  for (const component of components) {
    const wrong = whatIsWrong(component)
    if (wrong) throw new TransferFailure('BAD_NAME', `"${directory}" cannot be a path in ${within}: ${wrong}`)
  }
  return components
}

/** What tells a file from another one, and from the same one after a change. */
type NamedVersion = Pick<Offer, 'name' | 'size' | 'mtimeMs'>

/**
 * The temporary name of an offer: the same for the same name, size and time, so that an interrupted transfer
 * is found again, and different for a file that has changed.
 */
export function partialName(offer: NamedVersion): string {
  const same = JSON.stringify([offer.name, offer.size, offer.mtimeMs])
  const tag = hash('sha256', same, 'hex').slice(0, 16)
  return `.${cutToBytes(offer.name, NAME_BYTES_MAX - PARTIAL_MARK.length - 17)}${PARTIAL_MARK}${tag}`
}

function whatIsWrong(name: string): string | null {
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it names a folder'
  if (name.includes('/') || name.includes('\\')) return 'it contains a separator'
  if (name.includes('\0')) return 'it contains a NUL'
  if (byteLengthOf(name) > NAME_BYTES_MAX) return `it is longer than ${NAME_BYTES_MAX} bytes`
  if (name.startsWith('.') && name.includes(PARTIAL_MARK)) return 'it is the name of an unfinished transfer'
  return null
}

/** The longest beginning of `text` with at most `bytesMax` bytes, cut between characters. */
function cutToBytes(text: string, bytesMax: number): string {
  if (byteLengthOf(text) <= bytesMax) return text
  let cut = ''
  let bytes = 0
  for (const character of text) {
    bytes += bytesOf(character).length
    if (bytes > bytesMax) break
    cut += character
  }
  return cut
}
