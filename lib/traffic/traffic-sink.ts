import type { Connection, ConnectionHandler, Listener, Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'

/** Port number of the connection manager at which a host accepts the flows of scenarios. */
export const TRAFFIC_PORT = 4794

/** The memory that a flow may write, in the REP's private data: 4 bytes of key, 8 of address, 8 of length. */
const SINK_MEMORY_BYTES = 20

/**
 * Receives the flows of a scenario. All flows write to the same memory, over and over. Nobody reads it,
 * because the queue pair has counted and checked the packets. The flows share one protection domain, which
 * contains nothing else.
 */
export class TrafficSink implements Listener {
  readonly #region: MemoryRegion
  readonly #handler: ConnectionHandler

  /**
   * @param length bytes of memory
   * @param storage false: without storage, as in virtual time
   */
  constructor(verbs: Verbs, length: number, storage: boolean) {
    this.#region = verbs.memory.register(
      storage ? Buffer.alloc(length) : null,
      length,
      Access.LOCAL_WRITE | Access.REMOTE_WRITE,
      verbs.memory.newDomain(),
    )
    this.#handler = new SinkConnection(this.#region)
    verbs.listen(TRAFFIC_PORT, this)
  }

  accept(): ConnectionHandler {
    return this.#handler
  }
}

class SinkConnection implements ConnectionHandler {
  readonly domain: DomainId
  readonly #words: Buffer

  constructor(region: MemoryRegion) {
    this.domain = region.domain
    this.#words = Buffer.alloc(SINK_MEMORY_BYTES)
    this.#words.writeUInt32BE(region.key, 0)
    this.#words.writeBigUInt64BE(BigInt(region.address), 4)
    this.#words.writeBigUInt64BE(BigInt(region.length), 12)
  }

  acceptData(): Uint8Array {
    return this.#words
  }

  onEstablished(): void {}
  onCompletion(_now: number, _connection: Connection, _completion: Completion): void {}
  onClosed(): void {}
}

/** Returns the memory that a sink announced at connect, or null if the private data is not a sink's. */
export function readSinkMemory(words: Uint8Array): { rkey: number; address: number; length: number } | null {
  if (words.length < SINK_MEMORY_BYTES) return null
  const address = readNumber(words, 4)
  const length = readNumber(words, 12)
  if (!Number.isSafeInteger(address) || !Number.isSafeInteger(length) || length === 0) return null
  return { rkey: readWord(words, 0), address, length }
}

/** Eight bytes. What is no safe integer is none here either, though it may be rounded. */
function readNumber(words: Uint8Array, at: number): number {
  return readWord(words, at) * 2 ** 32 + readWord(words, at + 4)
}

/** Four bytes. A view would make V8 move so short an array out of its heap first. */
function readWord(words: Uint8Array, at: number): number {
  return ((words[at]! << 24) | (words[at + 1]! << 16) | (words[at + 2]! << 8) | words[at + 3]!) >>> 0
}
