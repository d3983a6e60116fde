import type { Frame } from '../../frame/frame.js'
import * as feedbackTag from '../../wire/weir/feedback-tag.js'
import { ReplayWindow } from './replay-window.js'

/** What a guard says of a received packet. */
export const TagVerdict = {
  OK: 0,
  /** It is too short to hold a tag. */
  MISSING: 1,
  FORGED: 2,
  REPLAYED: 3,
} as const
export type TagVerdict = (typeof TagVerdict)[keyof typeof TagVerdict]

/**
 * Authenticates the feedback of one connection, both ways: what the peer sends must bear a tag by the connection's key, and
 * a sequence number that has not come before (`lib/wire/weir/feedback-tag.ts`).
 */
export class FeedbackGuard {
  readonly #sendKey: Uint32Array
  readonly #receiveKey: Uint32Array
  readonly #window = new ReplayWindow()
  #sequence = 0

  /** @param sendKey four words, as `keyWords` makes them; @param receiveKey the peer's */
  constructor(sendKey: Uint32Array, receiveKey: Uint32Array) {
    this.#sendKey = sendKey
    this.#receiveKey = receiveKey
  }

  /** Puts sequence number and tag behind a packet's headers; a probe's padding has room for them already. */
  seal(frame: Frame): void {
    feedbackTag.write(frame, this.#sendKey, ++this.#sequence)
    frame.payloadLength = Math.max(frame.payloadLength, feedbackTag.BYTES)
    frame.length = Math.max(frame.length, frame.payload + feedbackTag.BYTES)
    frame.wireLength = Math.max(frame.wireLength, frame.payload + frame.payloadLength)
  }

  /** Checks a received packet, and takes the tag off if it is right: the packet has no payload then. */
  open(frame: Frame): TagVerdict {
    const missing =
      frame.payloadLength < feedbackTag.BYTES || frame.length < frame.payload + feedbackTag.BYTES
    if (missing) return TagVerdict.MISSING
    if (!feedbackTag.verify(frame, this.#receiveKey)) return TagVerdict.FORGED
    if (!this.#window.add(feedbackTag.sequence(frame.view, frame.payload))) return TagVerdict.REPLAYED
    frame.payloadLength = 0
    return TagVerdict.OK
  }
}
