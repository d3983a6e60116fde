import { powerOfTwo } from '../queues/reorder-buffer.js'

const FIRST_CAPACITY = 64
/** The columns before anything is retransmitted. Nobody writes to them. */
const NONE = new Float64Array(0)

/**
 * Packets that were retransmitted, in the order in which they left: PSN and number of the transmission. An entry is out of date once its packet has
 * been answered or has left once more. When the list is full the oldest entries are forgotten, and only silence shows their loss.
 */
export class Repeats {
  readonly #capacityMax: number
  #seq = NONE
  #number = NONE
  #head = 0
  #tail = 0

  /** @param packets that may be without an answer at a time */
  constructor(packets: number) {
    this.#capacityMax = 2 * powerOfTwo(packets)
  }

  get isEmpty(): boolean {
    return this.#head === this.#tail
  }

  /** PSN of the one that left first. */
  get firstSeq(): number {
    return this.#seq[this.#head & (this.#seq.length - 1)]!
  }

  /** The number of its transmission. */
  get firstNumber(): number {
    return this.#number[this.#head & (this.#seq.length - 1)]!
  }

  push(seq: number, number: number): void {
    if (this.#tail - this.#head === this.#seq.length) this.#makeRoom()
    const at = this.#tail++ & (this.#seq.length - 1)
    this.#seq[at] = seq
    this.#number[at] = number
  }

  /** Removes the one that left first. */
  shift(): void {
    this.#head++
  }

  clear(): void {
    this.#head = this.#tail
  }

  #makeRoom(): void {
    if (this.#seq.length === this.#capacityMax) {
      this.#head++
      return
    }
    const capacity = Math.max(2, Math.min(this.#capacityMax, Math.max(FIRST_CAPACITY, 2 * this.#seq.length)))
    const seq = new Float64Array(capacity)
    const number = new Float64Array(capacity)
    const count = this.#tail - this.#head
    for (let i = 0; i < count; i++) {
      const from = (this.#head + i) & (this.#seq.length - 1)
      seq[i] = this.#seq[from]!
      number[i] = this.#number[from]!
    }
    this.#seq = seq
    this.#number = number
    this.#head = 0
    this.#tail = count
  }
}
