/**
 * Whether this host's file system answers at once. An asynchronous call of Node.js costs 25 µs of CPU time, a synchronous one 3 µs; but a
 * synchronous one holds up the packets of this thread. So short files are read, written and named by synchronous calls until these turn out
 * to be slow, as on a network file system. A thread that waits for its core finds a few of them slow, however fast they are, so the
 * median decides. Whether they are synced by such calls is judged by itself: disks take longer for that than memory.
 */

/** How long synchronous calls may take. */
interface Patience {
  /** The median of `SAMPLES`, and `LONG` of them. */
  medianMs: number
  longMs: number
}

const SAMPLES = 64
/** So many of the samples that are too long show a slow file system too. */
const LONG = 3
const FOR_CALLS: Patience = { medianMs: 1, longMs: 100 }
export const FOR_SYNCS: Patience = { medianMs: 0.1, longMs: 20 }

export class Haste {
  readonly #patience: Patience
  readonly #samplesMs = new Float64Array(SAMPLES)
  #isSlow = false
  #count = 0
  #long = 0

  constructor(patience = FOR_CALLS) {
    this.#patience = patience
  }

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
    const { medianMs, longMs } = this.#patience
    this.#samplesMs[this.#count++] = ms
    if (ms > longMs && ++this.#long === LONG) this.#isSlow = true
    if (this.#count < SAMPLES) return
    if (this.#samplesMs.sort()[SAMPLES / 2]! > medianMs) this.#isSlow = true
    this.#count = 0
    this.#long = 0
  }
}
