/**
 * The fair rate of one port: the PI controller of RoCC's congestion point (Taheri et al., CoNEXT 2020), every T:
 *
 *     if Q >= Q_max and F > F_max / 8:              F <- F_min
 *     else if Q - Q_old >= Q_mid and F > F_max / 8:  F <- F / 2
 *     else:                                         F <- F - a (Q - Q_ref) - b (Q - Q_old)
 *     F within F_min and F_max; Q_old <- Q
 *
 * Auto-tuning: a = alpha / r and b = beta / r, where r = 1, 2, 4 ... 32 is the first for which F >= F_max / (2 r), or 32.
 *
 * | symbol        | meaning                                        | unit   | for a link of 40 Gbit/s, as in the paper |
 * |---------------|------------------------------------------------|--------|------------------------------------------|
 * | F_max, F_min  | bounds of the fair rate F                      | bit/s  | 40 Gbit/s, 100 Mbit/s                    |
 * | Q_ref         | queue to be kept                               | bytes  | 150 KB                                   |
 * | Q_mid, Q_max  | growth in T that halves F; queue that ends it  | bytes  | 300 KB, 360 KB                           |
 * | T             | time between two updates                       | ns     | 40 us                                    |
 * | alpha, beta   | gains, in units of 10 Mbit/s for each 600 B    |        | 0.3, 1.5                                 |
 *
 * With another rate, queues and units grow in proportion, so rates settle in as many T. Below 4 Gbit/s queues would become smaller
 * than packets: they stay those of 4 Gbit/s, and T grows instead.
 */
import { MICROSECOND, type Nanos } from '../../../lib/time/nanos.js'

/** What a user may set of it; the rest follows from the rate. */
export interface FairRateOptions {
  alpha: number
  beta: number
  qRefBytes?: number
  qMidBytes?: number
  qMaxBytes?: number
  intervalNs?: Nanos
  minRate?: number
  maxRate?: number
}

/** All constants of one port. */
interface FairRateConstants {
  alpha: number
  beta: number
  qRefBytes: number
  qMidBytes: number
  qMaxBytes: number
  intervalNs: Nanos
  minBps: number
  maxBps: number
  /** Units of F and Q in which alpha and beta are gains. */
  unitBps: number
  unitBytes: number
}

/** The link of the paper's constants, bit/s. */
const PAPER_BPS = 40e9
/** Queues do not become smaller than those of a tenth of that. */
const SCALE_MIN = 0.1
const PAPER_INTERVAL_NS = 40 * MICROSECOND
const PAPER_Q_REF = 150_000
const PAPER_Q_MID = 300_000
const PAPER_Q_MAX = 360_000
const PAPER_UNIT_BYTES = 600
/** Units of F in F_max, and F_min in F_max. */
const UNITS = 4000
const SHARES_MIN = 400
/** F has to be above this share of F_max to be cut. */
const CUT_SHARE = 1 / 8
const TUNING_MOST = 32

/** @param rateBps of the link */
export function fairRateConstants(rateBps: number, given: FairRateOptions): FairRateConstants {
  const maxBps = Math.min(rateBps, given.maxRate ?? rateBps)
  const scale = Math.max(SCALE_MIN, maxBps / PAPER_BPS)
  const slower = (scale * PAPER_BPS) / maxBps
  const { alpha, beta } = given
  return {
    alpha,
    beta,
    qRefBytes: given.qRefBytes ?? PAPER_Q_REF * scale,
    qMidBytes: given.qMidBytes ?? PAPER_Q_MID * scale,
    qMaxBytes: given.qMaxBytes ?? PAPER_Q_MAX * scale,
    intervalNs: given.intervalNs ?? Math.round(PAPER_INTERVAL_NS * slower),
    minBps: Math.min(maxBps, given.minRate ?? maxBps / SHARES_MIN),
    maxBps,
    unitBps: maxBps / UNITS,
    unitBytes: PAPER_UNIT_BYTES * scale,
  }
}

/** F of one port. */
export class FairRatePi {
  readonly constants: FairRateConstants
  /** F, bit/s. */
  rateBps: number
  #oldBytes = 0

  constructor(constants: FairRateConstants) {
    this.constants = constants
    this.rateBps = constants.maxBps
  }

  /** T has passed. @param queueBytes Q */
  update(queueBytes: number): void {
    const { qRefBytes, qMidBytes, qMaxBytes, minBps, maxBps, unitBps, unitBytes } = this.constants
    const growth = queueBytes - this.#oldBytes
    const mayCut = this.rateBps > maxBps * CUT_SHARE
    let rate = this.rateBps
    if (queueBytes >= qMaxBytes && mayCut) rate = minBps
    else if (growth >= qMidBytes && mayCut) rate /= 2
    else {
      const { alpha, beta } = this.constants
      const change = (alpha * (queueBytes - qRefBytes) + beta * growth) / this.#tuning()
      rate -= (change / unitBytes) * unitBps
    }
    this.rateBps = Math.min(maxBps, Math.max(minBps, rate))
    this.#oldBytes = queueBytes
  }

  /** r. */
  #tuning(): number {
    let r = 1
    while (r < TUNING_MOST && this.rateBps < this.constants.maxBps / (2 * r)) r *= 2
    return r
  }
}
