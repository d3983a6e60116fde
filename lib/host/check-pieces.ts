import { checkInstance, checkObject } from '../arguments.js'
import { WeirError } from '../errors.js'
import { type DomainId, type MemoryPiece, MemoryRegion } from '../qp/memory/memory.js'
import type { ReceiveWork, SendWork } from '../qp/queues/work.js'

/** Who posts the work, and what memory it may name. */
interface Poster {
  who: string
  domain: DomainId
  regionOf(key: number): MemoryRegion | undefined
}

/** Throws WEIR_BAD_ARGUMENT for what is no work, and for memory of another host or protection domain. */
export function checkPieces(poster: Poster, what: string, work: SendWork | ReceiveWork): void {
  const of = `${poster.who}, ${what}`
  checkObject(of, 'the work request', work)
  const { id, region, more } = work
  if (typeof id !== 'number') throw new WeirError('WEIR_BAD_ARGUMENT', `${of}: id is a number, not ${id}`)
  checkRegion(poster, region)
  if (more === undefined) return
  checkInstance(of, 'more', Array, more)
  for (const piece of more as readonly MemoryPiece[]) {
    checkObject(of, 'each of more', piece)
    checkRegion(poster, piece.region)
  }
}

function checkRegion({ who, domain, regionOf }: Poster, region: MemoryRegion): void {
  const isKnown = region instanceof MemoryRegion && regionOf(region.key) === region
  if (isKnown && region.domain === domain) return
  const what = isKnown
    ? `the region is of protection domain ${region.domain}, the connection of ${domain}; register the memory with connection.domain`
    : 'the region is none of this host; register the memory first'
  throw new WeirError('WEIR_BAD_ARGUMENT', `${who}: ${what}`)
}
