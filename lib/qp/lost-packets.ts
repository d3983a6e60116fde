const NO_SEQ = Number.NEGATIVE_INFINITY

/** Packets taken for lost, until the observer is told. */
export class LostPackets {
  #packets = 0
  #bytes = 0
  #newestSeq = NO_SEQ
  #newestOrder = NO_SEQ

  /**
   * @param bytes payload bytes of the packet
   * @param order when it was last sent, counted as in SelectiveRepeat; not a whole number for a packet sent again, which
   * left just before the new packet of its order
   */
  add(seq: number, bytes: number, order: number): void {
    this.#packets++
    this.#bytes += bytes
    // Of packets sent again one after the other, the last has the highest PSN.
    if (bytes === 0 || order < this.#newestOrder) return
    this.#newestOrder = order
    this.#newestSeq = seq
  }

  get any(): boolean {
    return this.#packets > 0
  }

  get bytes(): number {
    return this.#bytes
  }

  /** PSN of the packet with payload that was sent last. */
  get newestSeq(): number {
    return this.#newestSeq
  }

  clear(): void {
    this.#packets = 0
    this.#bytes = 0
    this.#newestSeq = NO_SEQ
    this.#newestOrder = NO_SEQ
  }
}
