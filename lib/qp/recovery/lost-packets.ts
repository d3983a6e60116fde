const NO_SEQ = Number.NEGATIVE_INFINITY

/** Packets taken for lost, until the observer learns of them. */
export class LostPackets {
  #packets = 0
  #bytes = 0
  #newestSeq = NO_SEQ
  #newestNumber = NO_SEQ

  /**
   * @param bytes payload bytes of the packet
   * @param number of its last transmission
   */
  add(seq: number, bytes: number, number: number): void {
    this.#packets++
    this.#bytes += bytes
    if (bytes === 0 || number < this.#newestNumber) return
    this.#newestNumber = number
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
    this.#newestNumber = NO_SEQ
  }
}
