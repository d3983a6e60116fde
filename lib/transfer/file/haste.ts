/**
 * Whether this host's file system answers at once. An asynchronous call of Node.js costs 25 µs of CPU time, a synchronous one 3 µs; but a
 * synchronous one holds up the packets of this thread. So short files are opened, named and closed by synchronous calls until these turn
 * out to be slow, as on a network file system. Contents are read, and synced to the disk, by asynchronous calls in any case.
 */

/** The mean of so many is judged, and one by itself. */
const SAMPLES = 64
const MEAN_MS_MAX = 1
const ONE_MS_MAX = 100

export class Haste {
  #isSlow = false
  #count = 0
  #sumMs = 0

  /** Synchronous calls hold up nothing. */
  get pays(): boolean {
    return !this.#isSlow
  }

  /** Does some synchronous calls for one file. */
  run<T>(work: () => T): T {
    const begin = performance.now()
    try {
      return work()
    } finally {
      this.#note(performance.now() - begin)
    }
  }

  #note(ms: number): void {
    this.#sumMs += ms
    this.#count++
    if (ms > ONE_MS_MAX) this.#isSlow = true
    if (this.#count < SAMPLES) return
    if (this.#sumMs > SAMPLES * MEAN_MS_MAX) this.#isSlow = true
    this.#count = 0
    this.#sumMs = 0
  }
}
