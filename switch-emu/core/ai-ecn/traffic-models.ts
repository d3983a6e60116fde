import type { QueueFeatures } from './queue-features.js'
import type { Senders } from './senders.js'

/** Thresholds as the time in which the line sends so much, so that they fit links of every rate. */
export interface LineThresholds {
  kminNs: number
  kmaxNs: number
  pmax: number
}

/** Traffic whose best thresholds are known. */
export interface TrafficModel extends LineThresholds {
  name: string
  /** Whose best thresholds they are. */
  senders: Senders
  /** Where such traffic lies: `pointOf` its features, on average. */
  centroid: readonly number[]
  /** How far it lies from there in each coordinate, which depends on the thresholds in force: the unit of the distance. */
  spread: readonly number[]
  /** Traffic farther away is another one. */
  radius: number
}

/** What the coordinates of a point are, in order. Each is 0 to 1. */
export const COORDINATES = ['throughput', 'delay', 'largeShare', 'flows', 'ingressPorts'] as const

/** The values that are 1: a queue of 256 us, 256 flows, 64 ports. Longer queues and more of them count as these. */
const DELAY_SCALE_NS = 1000
const DELAY_MOST = 256
const FLOWS_MOST = 256
const PORTS_MOST = 64

/**
 * Returns where traffic lies among others. Delay, flows and ports count by their logarithm, as 2 flows and 4 differ as much as 20 and 40.
 * Pauses and marks are left out: they say more of the thresholds than of the traffic.
 */
export function pointOf({ throughput, delayNs, largeShare, flows, ingressPorts }: QueueFeatures): number[] {
  return [
    Math.min(1, throughput),
    byLogarithm(delayNs / DELAY_SCALE_NS, DELAY_MOST),
    largeShare,
    byLogarithm(flows, FLOWS_MOST),
    byLogarithm(ingressPorts, PORTS_MOST),
  ]
}

/** 0 to 1 for 0 to `most`. */
function byLogarithm(value: number, most: number): number {
  return Math.min(1, Math.log2(1 + value) / Math.log2(1 + most))
}

/** Returns how far a point is from a model. What differs much within the model counts little: its delay, more than its ports. */
export function distance(
  { centroid, spread }: Pick<TrafficModel, 'centroid' | 'spread'>,
  point: readonly number[],
): number {
  return Math.hypot(...point.map((value, i) => (value - centroid[i]!) / spread[i]!))
}

/** Returns the nearest model whose radius holds the point, or null. */
export function nearest(models: readonly TrafficModel[], point: readonly number[]): TrafficModel | null {
  let found: TrafficModel | null = null
  let least = Number.POSITIVE_INFINITY
  for (const model of models) {
    const away = distance(model, point)
    if (away > model.radius || away >= least) continue
    least = away
    found = model
  }
  return found
}

/** Share of the newest period in the mean by which traffic is matched. */
const NEWEST_SHARE = 0.5

/** Follows the traffic of one queue. The model changes only when another one, or none, has been nearest for `hold` periods in a row. */
export class TrafficMatcher {
  readonly #models: readonly TrafficModel[]
  readonly #hold: number
  #mean: number[] | null = null
  #model: TrafficModel | null = null
  #candidate: TrafficModel | null = null
  #periods = 0

  constructor(models: readonly TrafficModel[], hold: number) {
    this.#models = models
    this.#hold = hold
  }

  /** The model of the traffic. Null: it is unknown. */
  get model(): TrafficModel | null {
    return this.#model
  }

  /** It is that of enough periods since the last silence. */
  get isSure(): boolean {
    return this.#periods >= this.#hold && this.#candidate === this.#model
  }

  /** A period is over. Returns true if the model has changed. */
  onPeriod(features: QueueFeatures, senders: Senders): boolean {
    const point = pointOf(features)
    const mean = this.#mean ?? point
    this.#mean = mean.map((value, i) => value + NEWEST_SHARE * (point[i]! - value))
    const found = nearest(
      this.#models.filter(model => model.senders === senders),
      this.#mean,
    )
    this.#periods = found === this.#candidate ? this.#periods + 1 : 1
    this.#candidate = found
    if (found === this.#model || this.#periods < this.#hold) return false
    this.#model = found
    return true
  }

  /** Nothing came: what comes next is not compared with what was before. */
  forget(): void {
    this.#mean = null
    this.#periods = 0
  }
}
