/**
 * States of the ICRC behind the IP and UDP headers of packets that were met before. Most packets of a flow have the same ones,
 * so comparing them takes the place of masking them and taking their CRC.
 */

/** Words of IPv6 and UDP. */
const WORDS_MAX = 12
/** The words of an entry, and the state behind them. */
const ENTRY_WORDS = WORDS_MAX + 1
/** Headers of different flows, lengths and directions may share an entry: then each takes the other's place. */
const ENTRY_BITS = 6
/** Mixes the bits of what distinguishes headers: 2^32 by the golden ratio. */
const MIX = 0x9e37_79b1

export const BYTES_MAX = 4 * WORDS_MAX

export class KnownHeaders {
  readonly #words = new Int32Array(ENTRY_WORDS << ENTRY_BITS)

  /**
   * Returns the entry of headers, which has them or takes them: `isKnown` says which.
   *
   * @param at first byte of IP, which UDP follows
   * @param bytes of both, a multiple of 4, at most BYTES_MAX
   */
  entryOf(view: DataView, at: number, bytes: number): number {
    // Version, class and length; addresses; ports.
    const mixed = view.getInt32(at) ^ view.getInt32(at + bytes - 12) ^ view.getInt32(at + bytes - 8)
    return (Math.imul(mixed, MIX) >>> (32 - ENTRY_BITS)) * ENTRY_WORDS
  }

  isKnown(entry: number, view: DataView, at: number, bytes: number): boolean {
    const words = this.#words
    let word = entry
    for (let i = at; i < at + bytes; i += 4) if (words[word++] !== view.getInt32(i)) return false
    return true
  }

  /** The state behind the headers of an entry that has them. */
  stateOf(entry: number): number {
    return this.#words[entry + WORDS_MAX]!
  }

  /** From now on the entry has these headers, with that state behind them. */
  learn(entry: number, view: DataView, at: number, bytes: number, state: number): void {
    const words = this.#words
    let word = entry
    for (let i = at; i < at + bytes; i += 4) words[word++] = view.getInt32(i)
    words[entry + WORDS_MAX] = state
  }
}
