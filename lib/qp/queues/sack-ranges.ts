import * as sack from '../../wire/weir/sack.js'

/** More would be a burst of SACKs. A later SACK may name what is left out. */
const RANGES_MAX = 8
/** The columns before a packet has come out of order. Nobody writes to them. */
const NONE = new Float64Array(0)

/**
 * Packets that came out of order and have not been named by a SACK yet, as ranges of PSNs that one bitmap can cover: a host that takes in
 * many packets before it answers owes a SACK for each of them.
 */
export class SackRanges {
  #first = NONE
  #last = NONE
  #count = 0

  /** The packet has come. */
  add(seq: number): void {
    const at = this.#count - 1
    if (at >= 0) {
      const first = Math.min(this.#first[at]!, seq)
      const last = Math.max(this.#last[at]!, seq)
      if (last - first < sack.BITS) {
        this.#first[at] = first
        this.#last[at] = last
        return
      }
    }
    if (this.#first === NONE) this.#makeRoom()
    if (this.#count === RANGES_MAX) this.take()
    this.#first[this.#count] = seq
    this.#last[this.#count++] = seq
  }

  /** True if there is one with a PSN from `seq` on. */
  reaches(seq: number): boolean {
    while (this.#count > 0 && this.#last[0]! < seq) this.take()
    return this.#count > 0
  }

  /** Takes the oldest, and returns its last PSN. There must be one. */
  take(): number {
    const last = this.#last[0]!
    this.#first.copyWithin(0, 1)
    this.#last.copyWithin(0, 1)
    this.#count--
    return last
  }

  clear(): void {
    this.#count = 0
  }

  #makeRoom(): void {
    this.#first = new Float64Array(RANGES_MAX)
    this.#last = new Float64Array(RANGES_MAX)
  }
}
