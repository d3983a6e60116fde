import type { Nanos } from '../../../lib/time/nanos.js'
import { isSame, type Thresholds, type Wred } from '../marking/wred.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { scaleBps } from '../queueing/line-scale.js'
import type { DecisionReason } from './decision-log.js'
import type { QueueFeatures, QueueMeter } from './queue-features.js'
import { SenderKind, type Senders } from './senders.js'
import { type LineThresholds, TrafficMatcher, type TrafficModel } from './traffic-models.js'
import { type Bounds, bounded, Tuner } from './tuner.js'
import { utilityOf } from './utility.js'

/** Below this share of the line a period tells nothing; nor does one without data, which no port brought. */
const IDLE_THROUGHPUT = 0.01
/** No threshold is below a packet of ordinary Ethernet, which is a long time on a slow line. */
const LEAST_BYTES = 1500

/** How thresholds are found: not at all, by known models, by steps, or by models and else by steps. */
export type AiEcnMode = 'observe' | 'models' | 'tune' | 'full'

interface TunedQueueOptions {
  mode: AiEcnMode
  models: readonly TrafficModel[]
  /** Periods in a row after which a model is believed. */
  hold: number
  /** Share of throughput in the utility. */
  weight: number
  /** Bounds of the thresholds, as the time in which the line sends so much. */
  leastNs: Nanos
  mostNs: Nanos
}

/** So many periods of traffic that has just begun are short, by that factor: it is recognised the sooner. */
const SHORT_PERIODS = 4
const SHORTER = 4

/**
 * After a silence marks begin early for so many periods at most, until the traffic is recognised: flows that begin together at line rate fill
 * the queue within a round trip, and what the last traffic needed says nothing of them. Only where each mark counts: senders with CNPs take
 * milliseconds to recover from an early one.
 */
const EARLY_PERIODS = 8

/** Pairs of hosts that are remembered; they start over when there are more. */
const PAIRS_MAX = 4096

/** Weight of the newest period in the mean of `largestPort`: a port that is alone for the end of a burst does not count yet. */
const SHARE_GAIN = 0.5
/** The share has to fall by that part before there is more room: else the thresholds would change by some bytes in each period. */
const SHARE_STEP = 1 / 8

/** Room of a queue, which the thresholds leave free: what PFC allows one ingress port, or what the queue may hold. */
export interface Room {
  bytes: number
  /** True: it is that of an ingress port. All of them together may bring more. */
  isOfPort: boolean
}

/** Sums of features over periods, for the mean. */
const NOTHING: QueueFeatures = {
  delayNs: 0,
  throughput: 0,
  largeShare: 0,
  flows: 0,
  ingressPorts: 0,
  largestPort: 0,
  pausesSent: 0,
  pausesReceived: 0,
  marks: 0,
  cnps: 0,
}

/** One egress queue whose thresholds follow its traffic. */
export class TunedQueue {
  readonly port: EgressPort
  readonly priority: number
  readonly meter: QueueMeter
  readonly wred: Wred
  readonly #options: TunedQueueOptions
  /** As configured. */
  readonly #thresholds: Thresholds
  #matcher: TrafficMatcher
  #senders = new SenderKind()
  /** Periods since traffic began. */
  #age = 0
  /** Share of the traffic that one ingress port brings, on average. */
  #meanLargest = 1
  /** The same, by which the room counts: no less, and hardly more. */
  #largestPort = 1
  /** Null: the traffic is known, or is not tuned. */
  #tuner: Tuner | null = null
  /** Thresholds before marks began early; null: they do not. */
  #beforeEarly: Thresholds | null = null
  /** Its timer runs. */
  active = false
  utility = 0
  #periods = 0
  #sums: QueueFeatures = NOTHING
  #pausesSent = 0
  /** Marks of the queue that have been looked at. */
  #seenMarks = 0
  /** Pairs of hosts: a packet from the one to the other was marked here, and no CNP has come back since, nor a restart. */
  readonly #unanswered = new Set<number>()

  constructor(port: EgressPort, priority: number, meter: QueueMeter, wred: Wred, options: TunedQueueOptions) {
    this.port = port
    this.priority = priority
    this.meter = meter
    this.wred = wred
    this.#options = options
    this.#thresholds = wred.thresholds
    this.#matcher = matcherOf(options)
  }

  /** The model in force. */
  get model(): string | null {
    return this.#matcher.model?.name ?? null
  }

  /** How its senders hear of marks, as far as is known. */
  get senders(): Senders {
    return this.#senders.kind
  }

  /** True, once, if the packet that the queue has just looked at was marked. */
  takeMark(): boolean {
    const isNew = this.wred.marks > this.#seenMarks
    this.#seenMarks = this.wred.marks
    return isNew
  }

  /** The packet that was marked is from one host to another, whose hash this is. */
  marked(pair: number): void {
    if (this.#unanswered.size >= PAIRS_MAX) this.#unanswered.clear()
    this.#unanswered.add(pair)
  }

  /** Packets were marked here that no CNP has answered. */
  get hasUnanswered(): boolean {
    return this.#unanswered.size > 0
  }

  /** The same of packets from one host to another. */
  hasUnansweredOf(pair: number): boolean {
    return this.#unanswered.has(pair)
  }

  /** A CNP came in by the queue's port, which answers marks of packets between those two. */
  notified(pair: number): void {
    this.#unanswered.delete(pair)
    this.meter.notified()
  }

  /** How long its next period is where they usually have `periodNs`. */
  lengthNs(periodNs: Nanos): Nanos {
    return this.#age < SHORT_PERIODS ? Math.ceil(periodNs / SHORTER) : periodNs
  }

  /** Periods with traffic since the window began. */
  get periods(): number {
    return this.#periods
  }

  /** The mean of the features in these periods. */
  get traffic(): QueueFeatures {
    const n = Math.max(1, this.#periods)
    return Object.fromEntries(
      Object.entries(this.#sums).map(([name, sum]) => [name, sum / n]),
    ) as unknown as QueueFeatures
  }

  /** PFC frames since the window began by which ports were paused whose packets came here, as of the last period. */
  get pausesSent(): number {
    return this.#pausesSent
  }

  resetWindow(): void {
    this.#periods = 0
    this.#sums = NOTHING
    this.#pausesSent = 0
  }

  /**
   * No traffic: what comes next is looked at afresh, and marked early if there are models that it may be. How its senders hear of marks is
   * remembered. Returns why thresholds have changed, or null.
   */
  rest(room: Room): DecisionReason | null {
    this.#age = 0
    this.#matcher.forget()
    if (this.#matcher.model === null || this.#senders.kind !== 'acks') return null
    this.#beforeEarly ??= this.wred.thresholds
    const bounds = this.#bounds(room)
    const { leastNs } = bounds
    return this.#set(bounded({ kminNs: leastNs, kmaxNs: leastNs, pmax: 1 }, bounds), 'early')
  }

  /** Since the traffic was over, marks begin early. */
  get isEarly(): boolean {
    return this.#beforeEarly !== null
  }

  /** Forgets what the traffic was. Thresholds are as configured. */
  restart(): void {
    this.active = false
    this.#beforeEarly = null
    this.#age = 0
    this.#meanLargest = 1
    this.#largestPort = 1
    this.#senders = new SenderKind()
    this.#seenMarks = this.wred.marks
    this.#unanswered.clear()
    this.#matcher = matcherOf(this.#options)
    this.#tuner = null
    this.wred.thresholds = this.#thresholds
  }

  /**
   * A period is over. Sets new thresholds if there are some, and returns why, or null.
   *
   * @param room thresholds stay within it
   */
  onPeriod(features: QueueFeatures, room: Room): DecisionReason | null {
    this.#age += 1
    this.#pausesSent += features.pausesSent
    if (features.throughput < IDLE_THROUGHPUT || features.ingressPorts === 0) return null
    this.#count(features)
    this.utility = utilityOf(features, this.#options.weight)
    const { kind } = this.#senders
    this.#senders.onPeriod(features)
    if (this.#senders.kind !== kind) this.#tuner = null
    const { mode } = this.#options
    if (mode === 'observe') return null
    this.#noteLargest(features.largestPort)
    const bounds = this.#bounds(room)
    const hasChanged = this.#matcher.onPeriod(features, this.#senders.kind)
    const { model, isSure } = this.#matcher
    const before = this.#beforeEarly
    if (before !== null && !isSure && this.#age < EARLY_PERIODS)
      return this.#set(bounded(this.#now(), bounds), 'room')
    this.#beforeEarly = null
    if (model !== null) {
      this.#tuner = null
      return this.#set(bounded(model, bounds), hasChanged || before !== null ? 'model' : 'room')
    }
    // No step from where marks begin early would lead far.
    if (before !== null) return this.#set(bounded(this.#toLine(before), bounds), 'model')
    // While the traffic is being recognised, no step would be judged by enough of it.
    if (mode === 'models' || this.#age < SHORT_PERIODS) return this.#set(bounded(this.#now(), bounds), 'room')
    this.#tuner ??= new Tuner(this.#now(), this.#senders.kind)
    const step = this.#tuner.onPeriod(this.utility, bounds)
    return step === null ? null : this.#set(this.#tuner.thresholds, step)
  }

  #noteLargest(share: number): void {
    this.#meanLargest += SHARE_GAIN * (share - this.#meanLargest)
    const mean = this.#meanLargest
    if (mean > this.#largestPort || mean < this.#largestPort * (1 - SHARE_STEP)) this.#largestPort = mean
  }

  #bounds({ bytes, isOfPort }: Room): Bounds {
    const { leastNs, mostNs } = this.#options
    return {
      leastNs: Math.max(leastNs, this.#toNs(LEAST_BYTES)),
      kminMostNs: Math.min(mostNs, this.#toNs(bytes)),
      mostNs: Math.min(mostNs, this.#toNs(isOfPort ? bytes / this.#largestPort : bytes)),
    }
  }

  #now(): LineThresholds {
    return this.#toLine(this.wred.thresholds)
  }

  #toLine({ kminBytes, kmaxBytes, pmax }: Thresholds): LineThresholds {
    return { kminNs: this.#toNs(kminBytes), kmaxNs: this.#toNs(kmaxBytes), pmax }
  }

  /** Returns `why`, or null if that changes nothing. */
  #set(to: LineThresholds, why: DecisionReason): DecisionReason | null {
    const before = this.wred.thresholds
    const after: Thresholds = {
      kminBytes: this.#toBytes(to.kminNs),
      kmaxBytes: this.#toBytes(to.kmaxNs),
      pmax: to.pmax,
    }
    if (isSame(before, after)) return null
    this.wred.thresholds = after
    return why
  }

  #count(features: QueueFeatures): void {
    this.#periods++
    this.#sums = Object.fromEntries(
      Object.entries(this.#sums).map(([name, sum]) => [name, sum + features[name as keyof QueueFeatures]]),
    ) as unknown as QueueFeatures
  }

  #toNs(bytes: number): Nanos {
    return (bytes * 8e9) / scaleBps(this.port.rateBps)
  }

  #toBytes(ns: Nanos): number {
    return Math.round((ns * scaleBps(this.port.rateBps)) / 8e9)
  }
}

function matcherOf({ mode, models, hold }: TunedQueueOptions): TrafficMatcher {
  return new TrafficMatcher(mode === 'tune' ? [] : models, hold)
}
