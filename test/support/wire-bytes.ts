/** All bytes that the ports `dgram` of this process put on the wire, for tests of what can be read there. */
import type { Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { DgramPort } from '../../lib/io/ports/dgram-port.js'

export class WireBytes {
  readonly #pieces: Buffer[] = []
  bytes = 0

  /** Until the test ends. */
  static record(t: Test): WireBytes {
    const wire = new WireBytes()
    const { transmit } = DgramPort.prototype
    DgramPort.prototype.transmit = function (frame: Frame) {
      // A payload may lie in the memory of the application until the packet has left.
      wire.#add(frame.bytes.subarray(0, frame.length))
      wire.#add(frame.payloadBytes())
      transmit.call(this, frame)
    }
    t.teardown(() => {
      DgramPort.prototype.transmit = transmit
    })
    return wire
  }

  #add(bytes: Uint8Array): void {
    this.bytes += bytes.length
    this.#pieces.push(Buffer.from(bytes))
  }

  has(text: string): boolean {
    return this.#pieces.some(piece => piece.includes(text))
  }
}
