/** Scatter/gather lists: several pieces of memory that are one message, as the verbs' ibv_sge. */
import { WeirError } from '../../errors.js'
import { type MemoryPiece, MemoryRegion } from './memory.js'

/** Pieces of a work request. */
const PIECES_MAX = 4

/** Work with its first piece, and those that follow it. */
interface ListedWork extends MemoryPiece {
  more?: readonly MemoryPiece[]
}

/** The work itself if it has one piece, else the same with a region made for it, of all pieces. Throws WEIR_BAD_ARGUMENT. */
export function joined<Work extends ListedWork>(what: string, work: Work): Work {
  if (work.more === undefined) return work
  const pieces = [work, ...work.more].map(({ region, offset, length }) => ({ region, offset, length }))
  if (pieces.length > PIECES_MAX) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: at most ${PIECES_MAX} pieces, not ${pieces.length}`)
  }
  const { domain } = (pieces.find(({ region }) => region.valid) ?? work).region
  let total = 0
  for (const [i, { region, offset, length }] of pieces.entries()) {
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(length)
    if (!whole || !region.holds(offset, length)) {
      const where = `offset ${offset} length ${length}`
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${what}: piece ${i}, ${where}, is outside its region of ${region.length} bytes`,
      )
    }
    if (region.domain !== domain && region.valid) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: its pieces are of several protection domains`)
    }
    total += length
  }
  const region = new MemoryRegion(0, 0, total, null, 0, domain, pieces)
  return { ...work, region, offset: 0, length: total, more: undefined }
}

/** Copies `length` bytes from `offset` of a list on to `at`. False if the pieces have no bytes (virtual time). */
export function gather(
  list: MemoryRegion,
  offset: number,
  length: number,
  into: Uint8Array,
  at: number,
): boolean {
  let [skip, left, to] = [offset, length, at]
  for (const { region, offset: from, length: bytes } of list.pieces!) {
    if (region.backing === null) return false
    const here = Math.min(left, bytes - skip)
    if (here > 0) {
      into.set(region.backing.view(from + skip, here), to)
      to += here
      left -= here
    }
    skip = Math.max(0, skip - bytes)
  }
  return true
}

/** Copies bytes into a list, from `offset` on. The caller has checked bounds and rights. */
export function scatter(list: MemoryRegion, offset: number, bytes: Uint8Array): void {
  let [skip, done] = [offset, 0]
  for (const { region, offset: from, length } of list.pieces!) {
    const here = Math.min(bytes.length - done, length - skip)
    if (here > 0) {
      region.backing?.bytes.set(bytes.subarray(done, done + here), from + skip)
      done += here
    }
    skip = Math.max(0, skip - length)
  }
}
