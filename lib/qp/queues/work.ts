import type { MemoryPiece, MemoryRegion } from '../memory/memory.js'

/** Operations of a reliable connected queue pair (IBA 10.8; the verbs' names). */
export const WorkOpcode = {
  SEND: 0,
  SEND_WITH_IMM: 1,
  SEND_WITH_INV: 2,
  RDMA_WRITE: 3,
  RDMA_WRITE_WITH_IMM: 4,
  RDMA_READ: 5,
  COMPARE_AND_SWAP: 6,
  FETCH_AND_ADD: 7,
} as const
export type WorkOpcode = (typeof WorkOpcode)[keyof typeof WorkOpcode]

/** A work request for the send queue. The memory must stay untouched until its completion. */
export interface SendWork {
  /** The application's own number, which the completion returns. */
  id: number
  opcode: WorkOpcode
  /** Local memory: the source of SEND and WRITE, the destination of READ and atomics. */
  region: MemoryRegion
  /** Offset of the first byte within `region`. */
  offset: number
  /** Bytes, 0 to 2^31; 8 for atomics. */
  length: number
  /** Up to three pieces of memory that follow the first one (scatter/gather list). Together they are at most 2^31 bytes. Not for atomics. */
  more?: readonly MemoryPiece[] | undefined
  /** RDMA and atomics: address in the peer's memory, a whole number below 2^53. */
  remoteAddress?: number
  /** RDMA and atomics: the peer's key. */
  rkey?: number
  /** The *_WITH_IMM operations: 32 bits. */
  immediate?: number
  /** SEND_WITH_INV: the peer's key to invalidate. */
  invalidateKey?: number
  /** COMPARE_AND_SWAP: 64 bits; FETCH_AND_ADD: the addend. */
  compareOrAdd?: bigint
  /** COMPARE_AND_SWAP: 64 bits. */
  swap?: bigint
  /** False: no completion when it succeeds. Default true. */
  signaled?: boolean
  /** Waits until every earlier READ and atomic has completed. Default false. */
  fence?: boolean
  /** SEND and RDMA_WRITE_WITH_IMM: sets the SE bit, so that a peer wakes which waits for solicited events only. Default false. */
  solicited?: boolean
  /** Datagram queue pairs, where it has to be given: where the SEND goes. */
  to?: DatagramTarget
}

/** The queue pair that a datagram is for. */
interface DatagramTarget {
  /** Number of the address handle. */
  address: number
  /** 24 bits. */
  qpn: number
  /** 32 bits. One whose highest bit is set stands for that of the sending queue pair (IBA 10.2.5). */
  qkey: number
}

/** A work request for the receive queue: where the next SEND goes. */
export interface ReceiveWork {
  id: number
  region: MemoryRegion
  offset: number
  length: number
  /** Up to three pieces of memory that follow the first one. */
  more?: readonly MemoryPiece[] | undefined
}
