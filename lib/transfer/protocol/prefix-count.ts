/** Numbers from 0 on that are done with in any order, because several connections carry them: how many of the first are, without a gap. */
export class PrefixCount {
  #count = 0
  #end = 0
  readonly #beyond = new Set<number>()

  /** So many of the first numbers are done with. */
  get count(): number {
    return this.#count
  }

  /** Numbers behind a gap. */
  get beyond(): number {
    return this.#beyond.size
  }

  /** One more than the largest number that is done with; 0: none is. */
  get end(): number {
    return this.#end
  }

  has(number: number): boolean {
    return number < this.#count || this.#beyond.has(number)
  }

  /** Returns false if the number was done with before. */
  add(number: number): boolean {
    if (this.has(number)) return false
    this.#end = Math.max(this.#end, number + 1)
    if (number !== this.#count) {
      this.#beyond.add(number)
      return true
    }
    this.#count++
    while (this.#beyond.delete(this.#count)) this.#count++
    return true
  }
}
