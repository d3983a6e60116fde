import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'

/** The part of a round trip that an arrival may wait: so much does it add to it. */
const SHARE = 1 / 16
/** A flow counts for this long, or for twice as long. */
const WINDOW_NS: Nanos = 10 * MILLISECOND

/**
 * How long an arrival may wait, so that several packets are taken in at once: a part of the shortest T among the flows that
 * had something to do lately. A NIC in hardware calls this interrupt moderation.
 */
export class Patience {
  #leastNs: Nanos = NEVER
  #leastBeforeNs: Nanos = NEVER
  #endsNs: Nanos = 0

  /** A flow has something to do. @param baseRttNs its T, 0 = not known */
  note(baseRttNs: Nanos): void {
    if (baseRttNs < this.#leastNs) this.#leastNs = baseRttNs
  }

  /** 0 where no flow had anything to do. */
  ns(now: Nanos): Nanos {
    const leastNs = Math.min(this.#leastNs, this.#leastBeforeNs)
    if (now >= this.#endsNs) {
      this.#leastBeforeNs = this.#leastNs
      this.#leastNs = NEVER
      this.#endsNs = now + WINDOW_NS
    }
    return leastNs === NEVER ? 0 : leastNs * SHARE
  }
}
