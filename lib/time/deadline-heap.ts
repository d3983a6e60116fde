import { type Nanos, NEVER } from './nanos.js'

/**
 * The deadlines of a fixed set of sources, smallest first: an indexed binary heap. Each source has one entry,
 * so the heap is bounded and has no stale entries. Sources with equal times are ordered by id, which makes a
 * run repeatable.
 */
export class DeadlineHeap {
  #times = new Float64Array(16).fill(NEVER)
  /** Heap position → source. */
  #heap = new Int32Array(16)
  /** Source → heap position. */
  #position = new Int32Array(16)
  #count = 0

  /** Adds a source without a deadline. Returns its id, which counts from 0. */
  add(): number {
    if (this.#count === this.#times.length) this.#grow()
    const id = this.#count++
    this.#heap[id] = id
    this.#position[id] = id
    this.#times[id] = NEVER
    return id
  }

  /** Returns the source with the earliest deadline, or -1 when there are no sources. */
  first(): number {
    return this.#count === 0 ? -1 : this.#heap[0]!
  }

  /** The earliest deadline, or NEVER. */
  firstTime(): Nanos {
    return this.#count === 0 ? NEVER : this.#times[this.#heap[0]!]!
  }

  timeOf(id: number): Nanos {
    return this.#times[id]!
  }

  /** Sets a source's deadline. */
  set(id: number, time: Nanos): void {
    const old = this.#times[id]!
    if (time === old) return
    this.#times[id] = time
    if (time < old) this.#siftUp(this.#position[id]!, id, time)
    else this.#siftDown(this.#position[id]!, id, time)
  }

  #siftUp(from: number, id: number, time: Nanos): void {
    const heap = this.#heap
    const times = this.#times
    const position = this.#position
    let at = from
    while (at > 0) {
      const up = (at - 1) >> 1
      const other = heap[up]!
      const otherTime = times[other]!
      if (otherTime < time || (otherTime === time && other < id)) break
      heap[at] = other
      position[other] = at
      at = up
    }
    heap[at] = id
    position[id] = at
  }

  #siftDown(from: number, id: number, time: Nanos): void {
    const heap = this.#heap
    const times = this.#times
    const position = this.#position
    const count = this.#count
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= count) break
      let other = heap[child]!
      let otherTime = times[other]!
      if (child + 1 < count) {
        const right = heap[child + 1]!
        const rightTime = times[right]!
        if (rightTime < otherTime || (rightTime === otherTime && right < other)) {
          child++
          other = right
          otherTime = rightTime
        }
      }
      if (time < otherTime || (time === otherTime && id < other)) break
      heap[at] = other
      position[other] = at
      at = child
    }
    heap[at] = id
    position[id] = at
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2).fill(NEVER)
    times.set(this.#times)
    this.#times = times
    const heap = new Int32Array(times.length)
    heap.set(this.#heap)
    this.#heap = heap
    const position = new Int32Array(times.length)
    position.set(this.#position)
    this.#position = position
  }
}
