import { type Nanos, NEVER } from '../../time/nanos.js'

const SLOTS = 8
/** A change by less than this share of T is not reported. */
const NOTICED = 1 / 128
/** An estimate below this share of a clean round trip is wrong: a clean one has no queue of more than an eighth in it. */
const REFUTED = 0.7

/**
 * T, the base round-trip time: the smallest round trip of a sliding window. Any round trip may lower T, because none is shorter than T.
 * T rises when smaller round trips have left the window, but only if the window holds a *clean* one: that of a packet which left
 * while nothing of the flow was in flight. Otherwise a flow would take its own queue for a longer path, enlarge its window, and so the
 * queue.
 *
 * An *estimate* is a round trip less the queues that telemetry shows. It may lower T too, for as long as the window. But those queues
 * may be of other priorities, in which the packet did not wait: a clean round trip that is much longer refutes the estimate.
 */
export class BaseRttFilter {
  readonly #leastNs: Nanos
  readonly #windowNs: Nanos
  readonly #slotNs: Nanos
  readonly #smallestNs = new Float64Array(SLOTS).fill(NEVER)
  readonly #clean = new Uint8Array(SLOTS)
  #slot = 0
  #slotEndsNs: Nanos = Number.NEGATIVE_INFINITY
  #baseRttNs: Nanos = 0
  #estimateNs: Nanos = NEVER
  #estimateEndsNs: Nanos = Number.NEGATIVE_INFINITY
  /** The window has changed since T was worked out. */
  #isChanged = false
  /** When the last clean one was measured. */
  cleanNs: Nanos = Number.NEGATIVE_INFINITY

  /**
   * @param windowNs of the window; NEVER: nothing leaves it
   * @param leastNs T is not less, whatever is measured
   */
  constructor(windowNs: Nanos, leastNs: Nanos) {
    this.#windowNs = windowNs
    this.#slotNs = windowNs / SLOTS
    this.#leastNs = leastNs
  }

  /** A round trip has been measured. Returns T if it has changed, else 0: the first one makes it, whatever was guessed before. */
  onRoundTrip(now: Nanos, rttNs: Nanos, clean: boolean): Nanos {
    if (clean && this.#estimateNs < REFUTED * rttNs) {
      this.#estimateNs = NEVER
      this.#isChanged = true
    }
    return this.#take(now, rttNs, clean)
  }

  /** The same for a round trip that others' queues have made longer. @param estimateNs what it would have been without them */
  onEstimate(now: Nanos, rttNs: Nanos, estimateNs: Nanos, clean: boolean): Nanos {
    this.#estimateNs = estimateNs
    this.#estimateEndsNs = now + this.#windowNs
    return this.#take(now, rttNs, clean)
  }

  #take(now: Nanos, rttNs: Nanos, clean: boolean): Nanos {
    if (now >= this.#slotEndsNs) this.#advance(now)
    if (rttNs < this.#smallestNs[this.#slot]!) {
      this.#smallestNs[this.#slot] = rttNs
      this.#isChanged = true
    }
    if (clean) {
      if (this.#clean[this.#slot] === 0) this.#isChanged = true
      this.#clean[this.#slot] = 1
      this.cleanNs = now
    }
    const before = this.#baseRttNs
    // Most round trips change nothing.
    if (!clean && before > 0 && rttNs >= before && this.#estimateNs >= before) return 0
    if (!this.#isChanged && before > 0 && this.#estimateNs === NEVER) return 0
    this.#isChanged = false
    const smallestNs = this.#smallest(now)
    const baseRttNs = Math.max(this.#leastNs, smallestNs)
    if (before > 0 && Math.abs(baseRttNs - before) < NOTICED * before) return 0
    this.#baseRttNs = baseRttNs
    return baseRttNs
  }

  #smallest(now: Nanos): Nanos {
    if (now >= this.#estimateEndsNs) this.#estimateNs = NEVER
    let smallestNs = this.#estimateNs
    let clean = 0
    for (let slot = 0; slot < SLOTS; slot++) {
      smallestNs = Math.min(smallestNs, this.#smallestNs[slot]!)
      clean |= this.#clean[slot]!
    }
    return clean === 0 && this.#baseRttNs > 0 ? Math.min(smallestNs, this.#baseRttNs) : smallestNs
  }

  #advance(now: Nanos): void {
    const begun = this.#slotEndsNs === Number.NEGATIVE_INFINITY
    const passed = begun ? 0 : Math.min(SLOTS, 1 + Math.floor((now - this.#slotEndsNs) / this.#slotNs))
    for (let n = 0; n < passed; n++) {
      this.#slot = (this.#slot + 1) % SLOTS
      this.#smallestNs[this.#slot] = NEVER
      this.#clean[this.#slot] = 0
    }
    this.#slotEndsNs = now + this.#slotNs
    this.#isChanged = true
  }

  /** The flow takes another path: measurements of the old one no longer count. */
  forget(): void {
    this.#smallestNs.fill(NEVER)
    this.#clean.fill(0)
    this.#baseRttNs = 0
    this.#estimateNs = NEVER
    this.#isChanged = true
    this.cleanNs = Number.NEGATIVE_INFINITY
  }
}
