/**
 * The fair rate of one port: the PI controller of RoCC's congestion point (Taheri et al., CoNEXT 2020, algorithm 1), every T:
 *
 *     if Q >= Q_max and F > F_max / 8:              F <- F_min
 *     else if Q - Q_old >= Q_mid and F > F_max / 8:  F <- F / 2
 *     else:                                         F <- F - a (Q - Q_ref) - b (Q - Q_old)
 *     F within F_min and F_max; Q_old <- Q
 *
 * Auto-tuning: a = alpha / r and b = beta / r, where r = 1, 2, 4 ... 32 is the first for which F >= F_max / (2 r), or 32. But r = 1 while
 * both Q and (Q + Q_old) / 2 are below Q_low: a queue that stays nearly empty says that F is far too low, and division would keep it there
 * for ms. Algorithm 1 does not have this. What its authors published beside the paper does, for the switch of section 6.2 and in their
 * simulation, and only with it F settles in the ~2 ms of figure 8 (DECISIONS.md). With Q_low = 0 this is algorithm 1 as printed.
 *
 * | symbol        | meaning (table 2)                              | unit   | section 6: 40 Gbit/s | 100 Gbit/s   |
 * |---------------|------------------------------------------------|--------|----------------------|--------------|
 * | F_max, F_min  | bounds of the fair rate F                      | bit/s  | the link, 100 Mbit/s | the same     |
 * | Q_ref         | queue to be kept                               | bytes  | 150 KB               | 300 KB       |
 * | Q_mid, Q_max  | growth in T that halves F; queue that ends it  | bytes  | 300 KB, 360 KB       | 600, 660 KB  |
 * | Q_low         | queue below which gains are not divided        | bytes  | Q_ref / 8            | the same     |
 * | T             | time between two updates                       | ns     | 40 us                | 40 us        |
 * | alpha, beta   | gains, in units of 10 Mbit/s for each 600 B    |        | 0.3, 1.5             | 0.45, 2.25   |
 *
 * Any other rate has the constants of the nearer of the two, with queues and units in proportion, so rates settle in as many T. Below
 * 4 Gbit/s queues would become smaller than packets: they stay those of 4 Gbit/s, and T grows instead. F_min is a 400th of a slower link,
 * as 100 Mbit/s are of 40 Gbit/s.
 */
import { MICROSECOND, type Nanos } from '../../../lib/time/nanos.js'
import { formatRate } from '../../../lib/units/units.js'

/** What a user may set of it; the rest follows from the rate. */
export interface FairRateOptions {
  alpha?: number
  beta?: number
  qLowBytes?: number
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
  qLowBytes: number
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

/** What the paper has for a link. */
interface PaperLink {
  bps: number
  alpha: number
  beta: number
  qRefBytes: number
  qMidBytes: number
  qMaxBytes: number
}

const SLOWER: PaperLink = {
  bps: 40e9,
  alpha: 0.3,
  beta: 1.5,
  qRefBytes: 150_000,
  qMidBytes: 300_000,
  qMaxBytes: 360_000,
}
const FASTER: PaperLink = {
  bps: 100e9,
  alpha: 0.45,
  beta: 2.25,
  qRefBytes: 300_000,
  qMidBytes: 600_000,
  qMaxBytes: 660_000,
}
/** Queues do not become smaller than those of a tenth of the slower link. */
const SCALE_MIN = 0.1
const PAPER_INTERVAL_NS = 40 * MICROSECOND
const PAPER_UNIT_BPS = 10e6
const PAPER_UNIT_BYTES = 600
const PAPER_MIN_BPS = 100e6
/** F_min in F_max of the slower link. */
const SHARES_MIN = 400
/** F has to be above this share of F_max to be cut. */
const CUT_SHARE = 1 / 8
const TUNING_MOST = 32
/** Q_ref in Q_low. */
const LOW_SHARES = 8

/** @param rateBps of the link */
export function fairRateConstants(rateBps: number, given: FairRateOptions): FairRateConstants {
  const maxBps = Math.min(rateBps, given.maxRate ?? rateBps)
  const paper = maxBps * maxBps < SLOWER.bps * FASTER.bps ? SLOWER : FASTER
  const scale = Math.max(SCALE_MIN, maxBps / paper.bps)
  const slower = (scale * paper.bps) / maxBps
  return {
    alpha: given.alpha ?? paper.alpha,
    beta: given.beta ?? paper.beta,
    ...queues(paper, scale, given),
    intervalNs: given.intervalNs ?? Math.round(PAPER_INTERVAL_NS * slower),
    minBps: Math.min(maxBps, given.minRate ?? Math.min(PAPER_MIN_BPS, maxBps / SHARES_MIN)),
    maxBps,
    unitBps: (PAPER_UNIT_BPS * maxBps) / paper.bps,
    unitBytes: PAPER_UNIT_BYTES * scale,
  }
}

type Queues = Pick<FairRateConstants, 'qLowBytes' | 'qRefBytes' | 'qMidBytes' | 'qMaxBytes'>

/** Whatever is given of the three, Q_ref < Q_mid < Q_max (section 3.2): the others keep their distance from it. */
function queues(paper: PaperLink, scale: number, given: FairRateOptions): Queues {
  const { qMidBytes = NONE, qMaxBytes = NONE } = given
  const toMid = paper.qMidBytes / paper.qRefBytes
  const toMax = paper.qMaxBytes / paper.qRefBytes
  const ref = given.qRefBytes ?? Math.min(paper.qRefBytes * scale, qMidBytes / toMid, qMaxBytes / toMax)
  const mid = given.qMidBytes ?? Math.min(ref * toMid, (ref + qMaxBytes) / 2)
  const max = given.qMaxBytes ?? Math.max(ref * toMax, (mid * toMax) / toMid)
  const low = given.qLowBytes ?? ref / LOW_SHARES
  return { qLowBytes: low, qRefBytes: ref, qMidBytes: mid, qMaxBytes: max }
}

const NONE = Number.POSITIVE_INFINITY

/** Options that contradict each other. @param ratesBps of the switch's links */
export function fairRateContradictions(
  given: FairRateOptions,
  ratesBps: readonly number[],
): { option: string; wrong: string }[] {
  const {
    qLowBytes = 0,
    qRefBytes = 0,
    qMidBytes = NONE,
    qMaxBytes = NONE,
    minRate = 0,
    maxRate = NONE,
  } = given
  const slowest = Math.min(...ratesBps)
  const fastest = Math.max(...ratesBps)
  const rows: [isWrong: boolean, option: string, wrong: string][] = [
    [
      given.qRefBytes !== undefined && qLowBytes >= qRefBytes,
      'qLow',
      'qLow is below qRef: lower it, or leave it out',
    ],
    [qMidBytes <= qRefBytes, 'qMid', 'qMid is above qRef: raise it, or leave it out'],
    [
      qMaxBytes <= (given.qMidBytes ?? qRefBytes),
      'qMax',
      'qMax is above qRef and qMid: raise it, or leave it out',
    ],
    [minRate >= maxRate, 'minRate', 'minRate is below maxRate: lower it, or leave it out'],
    [
      minRate >= slowest && minRate < maxRate,
      'minRate',
      `minRate is below the rate of every link of the switch, the slowest of which has ${formatRate(slowest)}: lower it, or leave it out`,
    ],
    [
      given.maxRate !== undefined && maxRate >= fastest,
      'maxRate',
      `maxRate has no effect while no link of the switch is faster than ${formatRate(fastest)}: lower it, or leave it out`,
    ],
  ]
  return rows.filter(([isWrong]) => isWrong).map(([, option, wrong]) => ({ option, wrong }))
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

  /** F is that of a port that has just started. */
  restart(): void {
    this.rateBps = this.constants.maxBps
    this.#oldBytes = 0
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
      const change = (alpha * (queueBytes - qRefBytes) + beta * growth) / this.#tuning(queueBytes)
      rate -= (change / unitBytes) * unitBps
    }
    this.rateBps = Math.min(maxBps, Math.max(minBps, rate))
    this.#oldBytes = queueBytes
  }

  /** r. */
  #tuning(queueBytes: number): number {
    const { qLowBytes } = this.constants
    if (queueBytes < qLowBytes && (queueBytes + this.#oldBytes) / 2 < qLowBytes) return 1
    let r = 1
    while (r < TUNING_MOST && this.rateBps < this.constants.maxBps / (2 * r)) r *= 2
    return r
  }
}
