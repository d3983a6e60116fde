/** Completions from a NIC's thread to the application's: records of 48 bytes. */
import type { Completion, ReceiveOpcode } from '../qp/queues/completion-queue.js'
import type { WorkOpcode } from '../qp/queues/work.js'
import type { WorkStatus } from '../qp/queues/work-status.js'
import { SharedRing } from './shared-ring.js'

const COMPLETION_BYTES = 48
const F64_WORDS = COMPLETION_BYTES / 8
const U32_WORDS = COMPLETION_BYTES / 4

const F64 = { ID: 0, BYTE_LENGTH: 1 } as const
const U32 = {
  STATUS: 4,
  OPCODE: 5,
  FLAGS: 6,
  IMMEDIATE: 7,
  INVALIDATED_KEY: 8,
  QPN: 9,
  SOURCE_QPN: 10,
} as const
const IS_RECEIVE = 1
const HAS_IMMEDIATE = 2
const SOLICITED = 4

/** The completion queue of one connection. */
export class CompletionRing {
  readonly ring: SharedRing
  readonly #f64: Float64Array
  readonly #u32: Uint32Array

  /** Throws WEIR_BAD_ARGUMENT unless depth is a power of two. */
  static make(depth: number): CompletionRing {
    return new CompletionRing(SharedRing.make(depth, COMPLETION_BYTES).memory)
  }

  constructor(memory: SharedArrayBuffer) {
    this.ring = new SharedRing(memory, COMPLETION_BYTES)
    this.#f64 = new Float64Array(memory, this.ring.recordsAt)
    this.#u32 = new Uint32Array(memory, this.ring.recordsAt)
  }

  /**
   * Producer: adds a completion. The ring has room, because work is only taken when its completion has a
   * place.
   */
  push(completion: Completion): void {
    const f64 = this.ring.producing * F64_WORDS
    const u32 = this.ring.producing * U32_WORDS
    this.#f64[f64 + F64.ID] = completion.id
    this.#f64[f64 + F64.BYTE_LENGTH] = completion.byteLength
    this.#u32[u32 + U32.STATUS] = completion.status
    this.#u32[u32 + U32.OPCODE] = completion.opcode
    this.#u32[u32 + U32.FLAGS] =
      (completion.isReceive ? IS_RECEIVE : 0) |
      (completion.hasImmediate ? HAS_IMMEDIATE : 0) |
      (completion.solicited ? SOLICITED : 0)
    this.#u32[u32 + U32.IMMEDIATE] = completion.immediate
    this.#u32[u32 + U32.INVALIDATED_KEY] = completion.invalidatedKey
    this.#u32[u32 + U32.QPN] = completion.qpn
    this.#u32[u32 + U32.SOURCE_QPN] = completion.sourceQpn
    this.ring.publish()
  }

  /** Consumer: takes the oldest completion. False if there is none. */
  poll(into: Completion): boolean {
    if (this.ring.pending === 0) return false
    const f64 = this.ring.consuming * F64_WORDS
    const u32 = this.ring.consuming * U32_WORDS
    const flags = this.#u32[u32 + U32.FLAGS]!
    into.id = this.#f64[f64 + F64.ID]!
    into.byteLength = this.#f64[f64 + F64.BYTE_LENGTH]!
    into.status = this.#u32[u32 + U32.STATUS]! as WorkStatus
    into.opcode = this.#u32[u32 + U32.OPCODE]! as WorkOpcode | ReceiveOpcode
    into.isReceive = (flags & IS_RECEIVE) !== 0
    into.hasImmediate = (flags & HAS_IMMEDIATE) !== 0
    into.immediate = this.#u32[u32 + U32.IMMEDIATE]!
    into.invalidatedKey = this.#u32[u32 + U32.INVALIDATED_KEY]!
    into.qpn = this.#u32[u32 + U32.QPN]!
    into.sourceQpn = this.#u32[u32 + U32.SOURCE_QPN]!
    into.solicited = (flags & SOLICITED) !== 0
    this.ring.release()
    return true
  }
}
