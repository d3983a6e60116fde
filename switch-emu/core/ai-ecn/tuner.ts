import type { Senders } from './senders.js'
import type { LineThresholds } from './traffic-models.js'

/** Between which thresholds a tuner searches. */
export interface Bounds {
  /** The least Kmin. */
  leastNs: number
  /** The greatest Kmin. */
  kminMostNs: number
  /** The greatest Kmax. */
  mostNs: number
}

/** Pmax lies between these. */
const PMAX_LEAST = 0.01
const PMAX_MOST = 1
/** A step multiplies or divides. */
const STEP = 1.5
/** A step is an improvement if the utility has risen by so much, and the utility is another one if it has changed by twice as much. */
const GAIN = 0.005
/** Periods of which the utility is the mean. */
const PERIODS = 4
/** Periods that do not count after a change: senders need some time to follow. */
const SETTLING = 2
/** Senders with CNPs follow so many times as slowly: DCQCN's rates rise by steps of 55 us, for milliseconds. */
const CNPS_PATIENCE = 4
/** Periods of rest at a maximum before it is looked at again. */
const REST = 64

/** Returns thresholds within bounds: Kmin <= Kmax. */
export function bounded(
  { kminNs, kmaxNs, pmax }: LineThresholds,
  { leastNs, kminMostNs, mostNs }: Bounds,
): LineThresholds {
  const kmax = Math.max(Math.min(kmaxNs, mostNs), Math.min(leastNs, mostNs))
  return {
    kminNs: Math.min(Math.max(kminNs, leastNs), kminMostNs, kmax),
    kmaxNs: kmax,
    pmax: Math.min(Math.max(pmax, PMAX_LEAST), PMAX_MOST),
  }
}

function isSame(a: LineThresholds, b: LineThresholds): boolean {
  return a.kminNs === b.kminNs && a.kmaxNs === b.kmaxNs && a.pmax === b.pmax
}

/** The directions of steps. Kmin takes Kmax along, so that each of the three can be reached. */
const MOVES: readonly ((at: LineThresholds) => LineThresholds)[] = [1 / STEP, STEP].flatMap(factor => [
  ({ kminNs, kmaxNs, pmax }) => ({ kminNs: kminNs * factor, kmaxNs: kmaxNs * factor, pmax }),
  ({ kminNs, kmaxNs, pmax }) => ({ kminNs, kmaxNs: Math.max(kminNs, kmaxNs * factor), pmax }),
  ({ kminNs, kmaxNs, pmax }) => ({ kminNs, kmaxNs, pmax: pmax * factor }),
])

type TunerState = 'base' | 'trial' | 'rest'
/** What a tuner does: try a step, go back from one, or come inside bounds that have moved. */
type TunerStep = 'try' | 'back' | 'room'

/**
 * Hill climbing over Kmin, Kmax and Pmax, step by step:
 *
 *     base    measures the utility U at the thresholds in force             → trial, one step away
 *     trial   measures it there. Better by GAIN: they are kept, base is U   → trial, one step on
 *             otherwise                                                     → base, one step back, next direction
 *     rest    no direction is better. Left when U has changed, or after REST periods → base
 */
export class Tuner {
  #state: TunerState = 'base'
  #here: LineThresholds
  #trial: LineThresholds
  #move = 0
  /** Directions in a row that were not better. */
  #failed = 0
  #baseUtility = 0
  #sum = 0
  #periods = -SETTLING
  #rested = 0
  /** All numbers of periods are so many times as great. */
  readonly #patience: number

  constructor(from: LineThresholds, senders: Senders = 'acks') {
    this.#patience = senders === 'cnps' ? CNPS_PATIENCE : 1
    this.#periods *= this.#patience
    this.#here = from
    this.#trial = from
  }

  get state(): TunerState {
    return this.#state
  }

  /** Thresholds now. */
  get thresholds(): LineThresholds {
    return this.#state === 'trial' ? this.#trial : this.#here
  }

  /** A period with that utility is over. Returns what the tuner does now, or null. Then `thresholds` are the new ones. */
  onPeriod(utility: number, bounds: Bounds): TunerStep | null {
    if (!isSame(this.thresholds, bounded(this.thresholds, bounds))) return this.#comeInside(bounds)
    this.#periods++
    if (this.#periods > 0) this.#sum += utility
    const periods = PERIODS * this.#patience
    if (this.#periods < periods) return null
    const mean = this.#sum / periods
    this.#measureAnew(0)
    if (this.#state === 'rest') return this.#rest(mean)
    if (this.#state === 'base') {
      this.#baseUtility = mean
      return this.#try(bounds)
    }
    if (mean < this.#baseUtility + GAIN) return this.#back()
    this.#here = this.#trial
    this.#baseUtility = mean
    this.#failed = 0
    return this.#try(bounds)
  }

  /** Bounds have moved. */
  #comeInside(bounds: Bounds): TunerStep {
    this.#here = bounded(this.#here, bounds)
    this.#state = 'base'
    this.#measureAnew(SETTLING)
    return 'room'
  }

  /** Looks for the next direction in which there is room. */
  #try(bounds: Bounds): TunerStep | null {
    for (; this.#failed < MOVES.length; this.#turn()) {
      const next = bounded(MOVES[this.#move]!(this.#here), bounds)
      if (isSame(next, this.#here)) continue
      this.#trial = next
      this.#state = 'trial'
      this.#measureAnew(SETTLING)
      return 'try'
    }
    this.#state = 'rest'
    this.#rested = 0
    return null
  }

  #back(): TunerStep {
    this.#turn()
    this.#state = 'base'
    this.#measureAnew(SETTLING)
    return 'back'
  }

  #rest(mean: number): null {
    this.#rested += PERIODS * this.#patience
    if (Math.abs(mean - this.#baseUtility) <= 2 * GAIN && this.#rested < REST * this.#patience) return null
    this.#state = 'base'
    this.#failed = 0
    return null
  }

  #turn(): void {
    this.#failed++
    this.#move = (this.#move + 1) % MOVES.length
  }

  #measureAnew(settling: number): void {
    this.#sum = 0
    this.#periods = -settling * this.#patience
  }
}
