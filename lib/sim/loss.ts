/** Models of loss: which frames of a link are lost. */
import { WeirError } from '../errors.js'

export interface LossModel {
  /** Decides about the next frame. @param random uniform over [0, 1) */
  loses(random: () => number): boolean
}

/** Each frame is lost with the same probability, whatever happened to the others. */
export class RandomLoss implements LossModel {
  readonly #loss: number

  constructor(loss: number) {
    this.#loss = loss
  }

  loses(random: () => number): boolean {
    return random() < this.#loss
  }
}

/**
 * Losses in bursts: the chain of Gilbert (1960) and Elliott (1963). The link is good or bad. In the good state nothing is lost, in
 * the bad one each frame with the probability `burstLoss`. Before each frame the state may change: from bad to good with the
 * probability r = 1 / burst, so the bad state lasts `burst` frames on average, geometrically distributed; from good to bad with p,
 * chosen such that the whole share of lost frames is `loss`: p / (p + r) = loss / burstLoss.
 */
export class BurstLoss implements LossModel {
  readonly #toBad: number
  readonly #toGood: number
  readonly #burstLoss: number
  #isBad = false

  /**
   * Throws WEIR_BAD_ARGUMENT if no such chain exists.
   *
   * @param loss share of all frames that are lost
   * @param burst mean number of frames of a bad time, 1 or more
   * @param burstLoss share of its frames that are lost
   */
  constructor(loss: number, burst: number, burstLoss: number) {
    const wrong = whyNoBursts(loss, burst, burstLoss)
    if (wrong !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `link faults: ${wrong}`)
    const bad = loss / burstLoss
    this.#toGood = 1 / burst
    this.#toBad = bad === 1 ? 1 : (this.#toGood * bad) / (1 - bad)
    this.#burstLoss = burstLoss
  }

  loses(random: () => number): boolean {
    const change = random()
    this.#isBad = this.#isBad ? change >= this.#toGood : change < this.#toBad
    return this.#isBad && (this.#burstLoss === 1 || random() < this.#burstLoss)
  }
}

/** Returns why bursts of that mean length cannot lose so many frames, or null if they can. */
export function whyNoBursts(loss: number, burst: number, burstLoss: number): string | null {
  if (!(burst >= 1)) return `burst is a number of frames from 1, not ${burst}`
  const most = burstLoss * (burst / (burst + 1))
  if (loss <= most) return null
  return `bursts of ${burst} frames lose ${Number((most * 100).toFixed(3))}% at most, not ${loss * 100}%: loss must be smaller or burst longer`
}
