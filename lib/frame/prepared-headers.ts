/** Headers with which many frames begin: Ethernet, IP and UDP. They are copied by words, which for so few bytes is faster than `set`. */
import type { Frame } from './frame.js'

export class PreparedHeaders {
  readonly length: number
  /** The headers, the first byte of each word highest; the last word ends with zeros. So few bytes V8 keeps in the object itself. */
  readonly words: Int32Array

  constructor(words: Int32Array, length: number) {
    this.words = words
    this.length = length
  }

  /** The first `length` bytes of the view, which has zeros behind them to the next whole word. */
  static of(view: DataView, length: number): PreparedHeaders {
    const words = new Int32Array((length + 3) >> 2)
    for (let i = 0; i < words.length; i++) words[i] = view.getInt32(4 * i)
    return new PreparedHeaders(words, length)
  }

  copyInto({ view: to }: Frame): void {
    const { words } = this
    for (let i = 0; i < words.length; i++) to.setInt32(4 * i, words[i]!)
  }
}
