import type { Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import type { RemoteMemory } from './messages.js'

/**
 * Memory that the messages of one run lie in, one over the other, at either end. It is written to once, for the
 * kernel keeps one page for all that were never written.
 *
 * @param storage false: none behind it, as in virtual time
 * @param domain of all connections of the run
 */
export function registerMemory(
  verbs: Verbs,
  bytes: number,
  storage: boolean,
  domain: DomainId,
): MemoryRegion {
  const access = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
  return verbs.memory.register(storage ? Buffer.alloc(bytes, 'weir perf') : null, bytes, access, domain)
}

/** How the other end names it. */
export function namesOf(region: MemoryRegion): RemoteMemory {
  return { rkey: region.key, address: region.address, bytes: region.length }
}
