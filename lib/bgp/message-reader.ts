import type { BgpFault } from '../wire/bgp/fault.js'
import { check, HEADER_BYTES, length, MESSAGE_BYTES_MAX } from '../wire/bgp/message.js'

/** Cuts a stream of bytes into BGP messages. It holds one message at most. */
export class MessageReader {
  readonly #bytes = new Uint8Array(MESSAGE_BYTES_MAX)
  readonly #view = new DataView(this.#bytes.buffer)
  #have = 0

  /**
   * Calls `onMessage` for each whole message, until it returns false. Returns the fault of a header, or null. After either
   * the reader is not used any more.
   */
  read(chunk: Uint8Array, onMessage: (view: DataView) => boolean): BgpFault | null {
    for (let at = 0; at < chunk.length; ) {
      const wanted = this.#have < HEADER_BYTES ? HEADER_BYTES : length(this.#view, 0)
      const taken = Math.min(wanted - this.#have, chunk.length - at)
      this.#bytes.set(chunk.subarray(at, at + taken), this.#have)
      this.#have += taken
      at += taken
      if (this.#have < HEADER_BYTES) return null
      if (this.#have === HEADER_BYTES) {
        const fault = check(this.#view, 0)
        if (fault !== null) return fault
      }
      if (this.#have < length(this.#view, 0)) continue
      this.#have = 0
      if (!onMessage(this.#view)) return null
    }
    return null
  }
}
