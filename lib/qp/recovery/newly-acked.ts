/** What has been acknowledged since the last report to the observer. */
export class NewlyAcked {
  #bytes = 0
  #newestSeq = -1

  /** Packets up to that one, with so many bytes of payload, of none of which this was known. */
  add(bytes: number, seq: number): void {
    this.#bytes += bytes
    if (seq > this.#newestSeq) this.#newestSeq = seq
  }

  /** Payload bytes; less than 0 for what had been reported already. */
  addBytes(bytes: number): void {
    this.#bytes += bytes
  }

  /** A packet that was not known to have arrived. */
  addPacket(seq: number): void {
    if (seq > this.#newestSeq) this.#newestSeq = seq
  }

  /** The newest such PSN since the last call, or -1. */
  takeNewestSeq(): number {
    const seq = this.#newestSeq
    this.#newestSeq = -1
    return seq
  }

  /** Payload bytes since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes
    this.#bytes = 0
    return bytes
  }
}
