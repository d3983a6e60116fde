/** A machine of an end that writes the file, receiver or getter, as whoever writes it sees it (file/file-intake.ts). */
import { unknownVersion } from './failure.js'
import { isTime } from './file-time-range.js'
import type { TransferMachine } from './machine.js'
import { type Offer, OPEN_END_VERSION, TRANSFER_VERSION } from './messages.js'
import type { SinkChunks, SinkState } from './sink-chunks.js'
import type { TransferState } from './transfer-state.js'

export interface SinkMachine extends TransferMachine {
  readonly chunks: SinkChunks
  /** What the other end offers; null before. */
  readonly offer: Offer | null
  /** The other end's digest; null before Commit. */
  readonly digest: Uint8Array | null
  /** The file is in place. */
  onFinished(): void
}

/** An offer has come: the file is to be opened for it, or the transfer fails. */
export function takeOffer(offer: Offer, state: TransferState<string>): void {
  const { version, size, openEnd = false, chunkDigests = false } = offer
  if (version !== (openEnd ? OPEN_END_VERSION : TRANSFER_VERSION)) state.fail(unknownVersion(version))
  else if (openEnd && (size !== 0 || !chunkDigests)) state.violated('an open end without digests of chunks')
  else if (!Number.isSafeInteger(size) || !isTime(offer))
    state.violated('an offer whose size or time is out of range')
  else state.enter('opening' satisfies SinkState)
}
