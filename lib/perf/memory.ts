import type { Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import type { RemoteMemory } from './messages.js'

/**
 * Registers the memory for the messages of one run, which all use the same bytes. It is written once, because
 * the kernel maps all untouched pages to a single one.
 *
 * @param storage false: without storage, as in virtual time
 * @param domain protection domain of all connections of the run
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

/** Returns the names by which the other end accesses the region. */
export function namesOf(region: MemoryRegion): RemoteMemory {
  return { rkey: region.key, address: region.address, bytes: region.length }
}
