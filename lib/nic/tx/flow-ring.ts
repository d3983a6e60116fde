/** A ring of flow indexes in which each stands at most once. */
export class FlowRing {
  readonly #ring: Int32Array
  readonly #inside: Uint8Array
  #head = 0
  size = 0

  constructor(capacity: number) {
    this.#ring = new Int32Array(capacity)
    this.#inside = new Uint8Array(capacity)
  }

  has(index: number): boolean {
    return this.#inside[index] === 1
  }

  push(index: number): void {
    if (this.#inside[index] === 1) return
    this.#inside[index] = 1
    this.#ring[this.#placeOf(this.size++)] = index
  }

  /** Where the n-th stands, from 0. A remainder would take longer than the rest of a call. */
  #placeOf(n: number): number {
    const at = this.#head + n
    const { length } = this.#ring
    return at - (at < length ? 0 : length)
  }

  /** Before the oldest. */
  putFirst(index: number): void {
    if (this.#inside[index] === 1) return
    this.#inside[index] = 1
    this.#head = (this.#head === 0 ? this.#ring.length : this.#head) - 1
    this.#ring[this.#head] = index
    this.size++
  }

  /** The oldest, which stays; there must be one. */
  first(): number {
    return this.#ring[this.#head]!
  }

  /** The oldest, or -1. */
  shift(): number {
    if (this.size === 0) return -1
    const index = this.#ring[this.#head]!
    this.#head = this.#placeOf(1)
    this.size--
    this.#inside[index] = 0
    return index
  }

  drop(index: number): void {
    if (this.#inside[index] === 0) return
    this.#inside[index] = 0
    let kept = 0
    for (let n = 0; n < this.size; n++) {
      const other = this.#ring[this.#placeOf(n)]!
      if (other !== index) this.#ring[this.#placeOf(kept++)] = other
    }
    this.size = kept
  }
}
