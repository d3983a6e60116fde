/**
 * Messages on a byte stream: each is preceded by its length as a base-128 varint (protobuf's delimited form).
 * No I/O: bytes go in, whole messages come out.
 */
import { WeirError } from '../errors.js'

/** Longest message of the control plane. */
export const CONTROL_MESSAGE_BYTES_MAX = 65_536
/** Bytes of the longest length prefix that is accepted. */
const PREFIX_BYTES_MAX = 4

/** Cuts a stream into messages. After an error the stream cannot be trusted: close it. */
export class MessageSplitter {
  readonly #bytesMax: number
  #held: Buffer = Buffer.alloc(0)
  #broken = false

  constructor(bytesMax: number = CONTROL_MESSAGE_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /**
   * Takes the next piece of the stream and calls `deliver` with each message that is complete now. Holds at
   * most one incomplete message. Throws WEIR_PROTOCOL on a length that is malformed or too great.
   */
  push(piece: Uint8Array, deliver: (message: Uint8Array) => void): void {
    if (this.#broken) throw new WeirError('WEIR_BAD_STATE', 'this stream was malformed: it cannot go on')
    const data = this.#held.length > 0 ? Buffer.concat([this.#held, piece]) : Buffer.from(piece)
    let at = 0
    while (at < data.length) {
      const prefix = this.#readPrefix(data, at)
      if (prefix === null) break
      const begin = at + prefix.bytes
      if (data.length - begin < prefix.length) break
      at = begin + prefix.length
      deliver(data.subarray(begin, at))
    }
    this.#held = data.subarray(at)
  }

  #readPrefix(data: Buffer, at: number): { length: number; bytes: number } | null {
    let length = 0
    for (let i = 0; i < PREFIX_BYTES_MAX; i++) {
      const byte = data[at + i]
      if (byte === undefined) return null
      length += (byte & 0x7f) * 2 ** (7 * i)
      if (length > this.#bytesMax) break
      if (byte < 0x80) return { length, bytes: i + 1 }
    }
    this.#broken = true
    throw new WeirError(
      'WEIR_PROTOCOL',
      `a message is longer than ${this.#bytesMax} bytes, or its length is malformed`,
    )
  }
}

/** Returns `message` with its length in front. */
export function delimit(message: Uint8Array): Buffer {
  const prefix: number[] = []
  let rest = message.length
  while (rest >= 0x80) {
    prefix.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  prefix.push(rest)
  return Buffer.concat([Buffer.from(prefix), message])
}
