/**
 * HyStart++: the first slow start ends when round trips grow. It goes on more slowly for some rounds, to find out whether
 * that was a queue of its own (RFC 9406, section 4.2). The pace bounds bursts, so L is infinite.
 */
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { CubicConstants } from './cubic-options.js'

export class HyStart {
  readonly #constants: CubicConstants
  #lastRoundLeastNs: Nanos = NEVER
  #roundLeastNs: Nanos = NEVER
  #samples = 0
  /** The least round trip of the round that conservative slow start began in; NEVER: slow start. */
  #baselineNs: Nanos = NEVER
  #cssRounds = 0

  constructor(constants: CubicConstants) {
    this.#constants = constants
  }

  /** By how much less than in slow start the window is to grow: 1, or CSS_GROWTH_DIVISOR. */
  get divisor(): number {
    return this.#baselineNs === NEVER ? 1 : this.#constants.cssGrowthDivisor
  }

  /**
   * An acknowledgement. True if slow start is over. It is a sample for each packet that it stands for: a receiver that
   * acknowledges every sixteenth packet would else have slow start go on until a window has 128.
   * @param rttNs 0: not known; @param newRound all that was in flight when the round began has been acknowledged
   * @param packets that are acknowledged for the first time; need not be whole
   */
  onAck(rttNs: Nanos, newRound: boolean, packets: number): boolean {
    if (newRound && this.#endRound()) return true
    if (rttNs <= 0) return false
    this.#roundLeastNs = Math.min(this.#roundLeastNs, rttNs)
    this.#samples += Math.max(1, packets)
    if (this.#samples < this.#constants.hystartSamples) return false
    if (this.#baselineNs !== NEVER) {
      // The round trip is as short as before: the growth was not a queue of this flow.
      if (this.#roundLeastNs < this.#baselineNs) this.#baselineNs = NEVER
    } else if (this.#hasGrown()) {
      this.#baselineNs = this.#roundLeastNs
      this.#cssRounds = 0
    }
    return false
  }

  #hasGrown(): boolean {
    const last = this.#lastRoundLeastNs
    if (last === NEVER) return false
    const { hystartRttLeastNs, hystartRttMostNs, hystartRttDivisor } = this.#constants
    const threshold = Math.max(hystartRttLeastNs, Math.min(last / hystartRttDivisor, hystartRttMostNs))
    return this.#roundLeastNs >= last + threshold
  }

  /** True if that was the last round of conservative slow start. */
  #endRound(): boolean {
    if (this.#baselineNs !== NEVER && ++this.#cssRounds >= this.#constants.cssRounds) return true
    this.#lastRoundLeastNs = this.#roundLeastNs
    this.#roundLeastNs = NEVER
    this.#samples = 0
    return false
  }
}
