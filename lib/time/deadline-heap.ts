import { type Nanos, NEVER } from './nanos.js'

const SOURCES_AT_FIRST = 16

/**
 * The deadlines of a fixed set of sources, smallest first: an indexed binary heap. Each source has one entry,
 * so the heap is bounded and has no stale entries. Sources with equal times are ordered by id, which makes a
 * run repeatable.
 *
 * Times lie in the order of the heap, so that both children of an entry are read from one place.
 */
export class DeadlineHeap {
  /** Heap position → deadline. */
  #times = new Float64Array(SOURCES_AT_FIRST).fill(NEVER)
  /** Heap position → source. */
  #heap = new Int32Array(SOURCES_AT_FIRST)
  /** Source → heap position. */
  #position = new Int32Array(SOURCES_AT_FIRST)
  #count = 0

  /** Adds a source without a deadline. Returns its id, which counts from 0. */
  add(): number {
    if (this.#count === this.#times.length) this.#grow()
    const id = this.#count++
    this.#heap[id] = id
    this.#position[id] = id
    return id
  }

  /** Returns the source with the earliest deadline, or -1 when there are no sources. */
  first(): number {
    return this.#count === 0 ? -1 : this.#heap[0]!
  }

  /** The earliest deadline, or NEVER. */
  firstTime(): Nanos {
    return this.#times[0]!
  }

  timeOf(id: number): Nanos {
    return this.#times[this.#position[id]!]!
  }

  /** Sets a source's deadline. */
  set(id: number, time: Nanos): void {
    const at = this.#position[id]!
    const old = this.#times[at]!
    if (time < old) this.#siftUp(at, id, time)
    else if (time > old) this.#siftDown(at, id, time)
  }

  #siftUp(from: number, id: number, time: Nanos): void {
    const heap = this.#heap
    const times = this.#times
    const position = this.#position
    let at = from
    while (at > 0) {
      const up = (at - 1) >> 1
      const upTime = times[up]!
      if (upTime < time || (upTime === time && heap[up]! < id)) break
      const other = heap[up]!
      times[at] = upTime
      heap[at] = other
      position[other] = at
      at = up
    }
    times[at] = time
    heap[at] = id
    position[id] = at
  }

  #siftDown(from: number, id: number, time: Nanos): void {
    const heap = this.#heap
    const times = this.#times
    const position = this.#position
    const count = this.#count
    let at = from
    for (let child = 2 * at + 1; child < count; child = 2 * at + 1) {
      let childTime = times[child]!
      if (child + 1 < count) {
        const rightTime = times[child + 1]!
        if (rightTime < childTime || (rightTime === childTime && heap[child + 1]! < heap[child]!)) {
          child++
          childTime = rightTime
        }
      }
      const other = heap[child]!
      if (time < childTime || (time === childTime && id < other)) break
      times[at] = childTime
      heap[at] = other
      position[other] = at
      at = child
    }
    times[at] = time
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
