import { type Nanos, NEVER } from './nanos.js'

const SOURCES_AT_FIRST = 2
/** The node below which all sources are. */
const ROOT = 1

/**
 * The deadlines of a fixed set of sources, smallest first: a tournament between them. Each source has one entry, so the tree is
 * bounded and has no stale entries. Sources with equal times are ordered by id, which makes a run repeatable.
 *
 * Each node names the source below it that is first. A deadline that changes is compared with one other at each level, and only as
 * far up as its source is first, or was.
 */
export class DeadlineHeap {
  /** Source → deadline. */
  #times = new Float64Array(SOURCES_AT_FIRST).fill(NEVER)
  /** Node → the source that is first below it. Below node n are nodes 2n and 2n + 1, below the last nodes two sources each. */
  #first = tournament(this.#times)
  #count = 0

  /** Adds a source without a deadline. Returns its id, which counts from 0. */
  add(): number {
    if (this.#count === this.#times.length) this.#grow()
    return this.#count++
  }

  /** Returns the source with the earliest deadline, or -1 when there are no sources. */
  first(): number {
    return this.#count === 0 ? -1 : this.#first[ROOT]!
  }

  /** The earliest deadline, or NEVER. */
  firstTime(): Nanos {
    return this.#times[this.#first[ROOT]!]!
  }

  timeOf(id: number): Nanos {
    return this.#times[id]!
  }

  /** Sets a source's deadline. */
  set(id: number, time: Nanos): void {
    const times = this.#times
    if (times[id] === time) return
    times[id] = time
    const first = this.#first
    let winner = id
    let winnerTime = time
    let rival = id ^ 1
    for (let node = (id + times.length) >> 1; ; node >>= 1) {
      const rivalTime = times[rival]!
      if (rivalTime < winnerTime || (rivalTime === winnerTime && rival < winner)) {
        winner = rival
        winnerTime = rivalTime
      }
      // This source was not first here, and is not now: nothing changes above.
      if (winner !== id && first[node] === winner) return
      first[node] = winner
      if (node === ROOT) return
      rival = first[node ^ 1]!
    }
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2).fill(NEVER)
    times.set(this.#times)
    this.#times = times
    this.#first = tournament(times)
  }
}

/** Returns who is first at each node. */
function tournament(times: Float64Array): Int32Array {
  const size = times.length
  const first = new Int32Array(size)
  const firstOf = (n: number) => (n < size ? first[n]! : n - size)
  for (let node = size - 1; node >= ROOT; node--) {
    const left = firstOf(2 * node)
    const right = firstOf(2 * node + 1)
    first[node] = times[right]! < times[left]! ? right : left
  }
  return first
}
