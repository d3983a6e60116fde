/**
 * HyStart++: the first slow start ends when round trips grow, or when the acknowledgements of one round keep coming for a whole
 * round trip. Both show a bottleneck. It first goes on more slowly for some rounds, to find out whether the queue is its own
 * (RFC 9406, section 4.2). The pace bounds bursts, so L is infinite.
 *
 * Where this differs from the RFC:
 *
 * | the RFC | here | because |
 * |---|---|---|
 * | looks at the least round trip of the round so far | at the least of its last 8 to 16 samples | the first packets of a round have passed before the queue grows: the window would double once more |
 * | conservative slow start lasts 5 rounds | also ends when round trips have grown by the threshold once more | five rounds make three windows of one |
 * | looks at round trips alone | also at how long the acknowledgements of a round keep coming (Ha and Rhee, Taming the elephants, 2011: ACK train) | a round trip shows a queue one round trip late |
 * | keeps the window as it slows down | goes back to the window of the beginning of the round | the packets measured left by then: what was added since is not in the round trip yet |
 */
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { CubicConstants } from './cubic-options.js'

/** An acknowledgement stands for at most so many samples, as with TCP's receivers one does for two packets. */
const SAMPLES_MOST = 2

export class HyStart {
  readonly #constants: CubicConstants
  #lastRoundLeastNs: Nanos = NEVER
  #roundLeastNs: Nanos = NEVER
  /** The least round trip of the samples before, and of those since. */
  #blockLeastNs: Nanos = NEVER
  #newBlockLeastNs: Nanos = NEVER
  #samples = 0
  /** The least of all round trips, and when the first acknowledgement of this round came. */
  #leastNs: Nanos = NEVER
  #roundBeganNs: Nanos = NEVER
  /** The least round trip when conservative slow start began; NEVER: slow start. */
  #baselineNs: Nanos = NEVER
  #cssRounds = 0
  #slowedDown = false

  constructor(constants: CubicConstants) {
    this.#constants = constants
  }

  /** By how much less than in slow start the window is to grow: 1, or CSS_GROWTH_DIVISOR. */
  get divisor(): number {
    return this.#baselineNs === NEVER ? 1 : this.#constants.cssGrowthDivisor
  }

  /** A round trip that is longer than the least of all by the threshold: there is a queue. */
  get queuedNs(): Nanos {
    return this.#grownNs(this.#leastNs)
  }

  /** Conservative slow start begins with the last acknowledgement. */
  get slowedDown(): boolean {
    return this.#slowedDown
  }

  /**
   * An acknowledgement. True if slow start is over.
   * @param now on the clock of the round trips; @param rttNs 0: not known; @param newRound all that was in flight when the round began has been acknowledged
   * @param packets that are acknowledged for the first time; need not be whole
   */
  onAck(now: Nanos, rttNs: Nanos, newRound: boolean, packets: number): boolean {
    this.#slowedDown = false
    if (newRound && this.#endRound(now)) return true
    if (rttNs <= 0) return false
    this.#leastNs = Math.min(this.#leastNs, rttNs)
    this.#roundLeastNs = Math.min(this.#roundLeastNs, rttNs)
    this.#newBlockLeastNs = Math.min(this.#newBlockLeastNs, rttNs)
    this.#samples += Math.max(1, Math.min(SAMPLES_MOST, packets))
    if (this.#samples < this.#constants.hystartSamples) return false
    const recentNs = Math.min(this.#blockLeastNs, this.#newBlockLeastNs)
    const isSpread = this.#isSpread(now)
    this.#blockLeastNs = this.#newBlockLeastNs
    this.#newBlockLeastNs = NEVER
    this.#samples = 0
    return this.#judge(recentNs, isSpread)
  }

  /**
   * The acknowledgements of this round have come for a round trip: a window of a path that is not full leaves in less, at
   * twice its pace. What takes less than the least growth that counts may be the hosts' doing.
   */
  #isSpread(now: Nanos): boolean {
    return now - this.#roundBeganNs >= Math.max(this.#leastNs, this.#constants.hystartRttLeastNs)
  }

  /** When this round began does not count: the flow took something for lost since, and did not go on as it would have. */
  forgetRound(): void {
    this.#roundBeganNs = NEVER
  }

  #judge(recentNs: Nanos, isSpread: boolean): boolean {
    if (this.#baselineNs === NEVER) {
      if (!isSpread && !this.#hasGrown(this.#lastRoundLeastNs, recentNs)) return false
      this.#slowedDown = true
      this.#baselineNs = recentNs
      this.#cssRounds = 0
    } else if (recentNs < this.#baselineNs) {
      // The round trip is as short as before: the growth was not a queue of this flow.
      this.#baselineNs = NEVER
    }
    return this.#hasGrown(this.#baselineNs, recentNs)
  }

  #hasGrown(fromNs: Nanos, toNs: Nanos): boolean {
    return fromNs !== NEVER && toNs >= this.#grownNs(fromNs)
  }

  #grownNs(fromNs: Nanos): Nanos {
    const { hystartRttLeastNs, hystartRttMostNs, hystartRttDivisor } = this.#constants
    return fromNs + Math.max(hystartRttLeastNs, Math.min(fromNs / hystartRttDivisor, hystartRttMostNs))
  }

  /** True if that was the last round of conservative slow start. */
  #endRound(now: Nanos): boolean {
    this.#roundBeganNs = now
    if (this.#baselineNs !== NEVER && ++this.#cssRounds >= this.#constants.cssRounds) return true
    this.#lastRoundLeastNs = this.#roundLeastNs
    this.#roundLeastNs = NEVER
    this.#blockLeastNs = NEVER
    this.#newBlockLeastNs = NEVER
    this.#samples = 0
    return false
  }
}
