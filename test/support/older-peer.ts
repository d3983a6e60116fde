/**
 * Makes both ends of a transfer believe that the other one does not support digests of chunks, nor, for a
 * sender, Held.
 */
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { decodeMessage } from '../../lib/transfer/protocol/messages.js'

/** Offer.chunk_digests = true in its encoded form. After it comes Offer.knows_held of a sender. */
const FIELD = Buffer.of(0x68, 1)

/** Changes the bytes of an Offer. All others remain. */
export function asOlderPeer(work: SendWork, bytes: Uint8Array): void {
  if (work.opcode !== WorkOpcode.SEND || decodeMessage(bytes).body !== 'offer') return
  const at = Buffer.from(bytes).lastIndexOf(FIELD)
  bytes[at + 1] = 0
  if (at + 3 < bytes.length) bytes[at + 3] = 0
  const message = decodeMessage(bytes)
  if (message.body !== 'offer' || message.offer.chunkDigests || message.offer.knowsHeld)
    throw new Error('the offer has another form')
}
