import type { QpContext } from '../context/context.js'
import type { MemoryRegion } from '../memory/memory.js'
import { ResponseTable } from './response-table.js'

/** The message that has begun and not ended. */
export const Message = { NONE: 0, SEND: 1, WRITE: 2 } as const
export type Message = (typeof Message)[keyof typeof Message]

/** The peer's stream of requests, as far as it has been carried out: what the handlers of requests read and write. */
export class Inbound {
  readonly context: QpContext
  /** The PSN that comes next. */
  expectedSeq: number
  /** Messages completed; READs and atomics count at their request. */
  msn = 0
  message: Message = Message.NONE
  /** Bytes in the receive of a SEND that has begun. For a WRITE that has begun: bytes still to come, and where they go. */
  receivedBytes = 0
  remainingBytes = 0
  writeRegion: MemoryRegion | null = null
  writeOffset = 0
  /** PSNs that the responses of the READ or atomic just carried out take. */
  responsePackets = 0
  /** The READs and atomics that the peer may request again. */
  readonly table: ResponseTable

  /** @param firstSeq the PSN that comes first */
  constructor(context: QpContext, firstSeq: number, responderResources: number) {
    this.context = context
    this.expectedSeq = firstSeq
    this.table = new ResponseTable(responderResources)
  }

  /** Forgets the message under way. */
  abandonMessage(): void {
    this.message = Message.NONE
    this.writeRegion = null
  }
}
