/** Hides from both ends of a transfer that the other one knows digests of chunks, and of a sender that it knows Held. */
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { decodeMessage } from '../../lib/transfer/protocol/messages.js'

/** Offer.chunk_digests = true, as it travels; behind it Offer.knows_held, of a sender. */
const FIELD = Buffer.of(0x68, 1)

/** Changes the bytes of an Offer; all others stay as they are. */
export function asOlderPeer(work: SendWork, bytes: Uint8Array): void {
  if (work.opcode !== WorkOpcode.SEND || decodeMessage(bytes).body !== 'offer') return
  const at = Buffer.from(bytes).lastIndexOf(FIELD)
  bytes[at + 1] = 0
  if (at + 3 < bytes.length) bytes[at + 3] = 0
  const message = decodeMessage(bytes)
  if (message.body !== 'offer' || message.offer.chunkDigests || message.offer.knowsHeld)
    throw new Error('the offer has another form')
}
