/** Memory for records on their way, in the protection domain of one connection: a record is longer than what it seals. */
import { Access, type DomainId, type MemoryRegion, type MemoryTable } from '../qp/memory/memory.js'

/** Slots of about this many bytes are made together. */
const SLAB_BYTES = 64 * 1024
const SLOT_BYTES_LEAST = 256
/** Beyond a power of two, so that a message of such a length fits with its tag. */
const SPARE_BYTES = 64

export interface BounceSlot {
  readonly region: MemoryRegion
  readonly offset: number
  readonly bytes: Uint8Array
}

export class BounceMemory {
  readonly #memory: MemoryTable
  readonly #domain: DomainId | undefined
  readonly #regions: MemoryRegion[] = []
  readonly #free = new Map<number, BounceSlot[]>()

  constructor(memory: MemoryTable, domain: DomainId | undefined) {
    this.#memory = memory
    this.#domain = domain
  }

  /** A slot of at least so many bytes. Throws WEIR_FULL. */
  take(bytes: number): BounceSlot {
    const length = slotBytesFor(bytes)
    const free = this.#free.get(length) ?? []
    if (free.length === 0) this.#make(length, free)
    return free.pop()!
  }

  give(slot: BounceSlot): void {
    this.#free.get(slot.bytes.length)!.push(slot)
  }

  /** Call it when the connection has ended. */
  release(): void {
    for (const region of this.#regions) this.#memory.deregister(region)
    this.#regions.length = 0
    this.#free.clear()
  }

  #make(length: number, free: BounceSlot[]): void {
    const count = Math.max(1, Math.floor(SLAB_BYTES / length))
    const bytes = Buffer.alloc(count * length)
    const region = this.#memory.register(bytes, bytes.length, Access.LOCAL_WRITE, this.#domain)
    this.#regions.push(region)
    for (let i = 0; i < count; i++) {
      const offset = i * length
      free.push({ region, offset, bytes: bytes.subarray(offset, offset + length) })
    }
    this.#free.set(length, free)
  }
}

function slotBytesFor(bytes: number): number {
  let length = SLOT_BYTES_LEAST
  while (length + SPARE_BYTES < bytes) length *= 2
  return length + SPARE_BYTES
}
