import type { Frame } from '../../frame/frame.js'
import * as directTag from '../../wire/weir/direct-tag.js'
import { TagVerdict } from './feedback-guard.js'

/** Switches of which a flow remembers what they have said; a path has 15 at most. */
const SWITCHES = 16

/**
 * Authenticates what switches say directly to one connection, by the key of the domain; each switch numbers its
 * responses upwards (`lib/wire/weir/direct-tag.ts`). An older response says nothing beyond a newer one, so one
 * that was overtaken is refused like a replay.
 */
export class SwitchGuard {
  readonly #key: Uint32Array
  readonly #ids = new Uint16Array(SWITCHES)
  readonly #last = new Float64Array(SWITCHES).fill(-1)
  #next = 0

  /** @param key as `directKey` makes it */
  constructor(key: Uint32Array) {
    this.#key = key
  }

  /** Checks a received response, and takes the tag off if it is right. */
  open(frame: Frame): TagVerdict {
    const { view, payload } = frame
    const missing = frame.payloadLength < directTag.BYTES || frame.length < payload + directTag.BYTES
    if (missing) return TagVerdict.MISSING
    if (!directTag.verify(frame, this.#key)) return TagVerdict.FORGED
    if (!this.#isNewer(directTag.switchId(view, payload), directTag.sequence(view, payload)))
      return TagVerdict.REPLAYED
    frame.payloadLength = 0
    return TagVerdict.OK
  }

  #isNewer(id: number, sequence: number): boolean {
    for (let i = 0; i < SWITCHES; i++) {
      if (this.#last[i] === -1 || this.#ids[i] !== id) continue
      let ahead = sequence - this.#last[i]!
      if (ahead < 0) ahead += directTag.SEQUENCE_MODULUS
      if (ahead === 0 || ahead >= directTag.SEQUENCE_MODULUS / 2) return false
      this.#last[i] = sequence
      return true
    }
    this.#ids[this.#next] = id
    this.#last[this.#next] = sequence
    this.#next = (this.#next + 1) % SWITCHES
    return true
  }
}
