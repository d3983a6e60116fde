import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import { formatBytes, formatPercent } from '../../../lib/units/units.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { Opcode } from '../../../lib/wire/ib/opcode.js'
import type { FeatureReport, FeatureSwitch, Gauge, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry, Moment } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import { FlowKey } from '../flows/flow-key.js'
import { Marking } from '../marking/marking.js'
import { isSame, type Thresholds } from '../marking/wred.js'
import { Pfc } from '../pfc/pfc.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'
import { type Decision, DecisionLog, type DecisionReason } from './decision-log.js'
import { TRAFFIC_MODELS } from './model-table.js'
import { FlowBytes, type QueueFeatures, QueueMeter } from './queue-features.js'
import type { Senders } from './senders.js'
import type { TrafficModel } from './traffic-models.js'
import { type AiEcnMode, type Room, TunedQueue } from './tuned-queue.js'

/** Thresholds of marking that follow the traffic. */
export interface AiEcnOptions {
  mode: AiEcnMode
  /** Queues whose thresholds follow. */
  priorities: readonly number[]
  /** How often they are looked at. Default: 100 us at 100 Gbit/s, others in inverse proportion. */
  periodNs?: Nanos
  /** Periods in a row after which a model is believed. */
  hold: number
  /** A flow that has sent so much is large. */
  largeBytes: number
  /** Flows that the table has room for. */
  flows: number
  /** Share of throughput in the utility of a period, the rest is that of the delay. */
  weight: number
  /** Kmin is at least, and Kmax at most, what the line (`scaleBps`) sends in so much time. */
  leastNs: Nanos
  mostNs: Nanos
  /** Known traffic. Default: the table that comes with Weir. */
  models?: readonly TrafficModel[]
}

interface TunedQueueReport {
  priority: number
  kminBytes: number
  kmaxBytes: number
  pmax: number
  /** The model in force. Null: the traffic is unknown. */
  model: string | null
  /** The traffic is over, or what follows it is not recognised yet: marks begin early. */
  early: boolean
  /** How the senders hear of marks, as far as is known. */
  senders: Senders
  /** That of the last period with traffic. */
  utility: number
  /** Periods with traffic, and the mean of the features in them. */
  periods: number
  traffic: QueueFeatures
}

export interface AiEcnReport {
  /** Changes of thresholds, by reason and in all. */
  changes: number
  byReason: Readonly<Record<DecisionReason, number>>
  /** Packets of the whole switch that belonged to no flow of the table, since the switch began. */
  missed: number
  queues: TunedQueueReport[]
  /** The first 1,000 changes, in the order of their times. */
  decisions: readonly Decision[]
}

/** The period of a line is as long as it needs for so many bits: 100 us at 100 Gbit/s. */
const PERIOD_BITS = 1e7
/** Thresholds stay below this share of the bytes at which a pause is sent, or a packet is dropped. */
const ROOM_SHARE = 0.8

/**
 * AI ECN (white paper on lossless networks): the thresholds of marking follow the traffic of each queue. Each period its features are taken.
 * If they are those of a known model, its thresholds hold. Else a tuner looks for better ones, step by step (`tuner.ts`).
 *
 * **ECN acts before PFC.** Kmin stays below 0.8 of the threshold at which the switch pauses the peer of an ingress port, whoever has brought
 * what waits. Kmax stays below the length at which the port that brings most of the traffic has 0.8 of that threshold in the queue. For a lossy
 * queue both stay below 0.8 of the queue's bound.
 */
class AiEcn implements SwitchFeature {
  readonly #timers: QueueTimers
  readonly #pfc: Pfc | null
  readonly #losslessMask: number
  readonly #flows: FlowBytes
  /** Two hosts, one of which has sent the packet that is looked at. */
  readonly #pair: FlowKey
  /** By port x 8 + priority. Null: its thresholds stay. */
  readonly #queues: readonly (TunedQueue | null)[]
  /** By port. */
  readonly #logs: readonly DecisionLog[]
  readonly #periodNs: readonly Nanos[]
  #windowNs: Nanos

  constructor(options: AiEcnOptions, sw: FeatureSwitch, timers: QueueTimers) {
    const { ports, losslessMask, random, startNs } = sw
    this.#timers = timers
    this.#pfc = sw.find(Pfc)
    this.#losslessMask = losslessMask
    this.#windowNs = startNs
    this.#periodNs = ports.map(
      ({ rateBps }) => options.periodNs ?? Math.max(1000, Math.round((PERIOD_BITS * 1e9) / rateBps)),
    )
    const seed = Math.floor(random() * 2 ** 32)
    this.#pair = new FlowKey(seed)
    this.#flows = new FlowBytes({
      flows: options.flows,
      largeBytes: options.largeBytes,
      periodNs: Math.max(...this.#periodNs),
      ports: ports.length,
      seed,
    })
    const marking = sw.find(Marking)
    this.#queues = ports.flatMap(port =>
      Array.from({ length: PRIORITIES }, (_, priority) => {
        if (!options.priorities.includes(priority)) return null
        const wred = marking?.own(port.index, priority) ?? null
        if (wred === null) throw unmarked(priority)
        const meter = new QueueMeter(port, priority, this.#flows, this.#pfc, ports.length)
        return new TunedQueue(port, priority, meter, wred, { models: TRAFFIC_MODELS, ...options })
      }),
    )
    this.#logs = ports.map(() => new DecisionLog())
  }

  offered(now: Nanos, frame: Frame, ingress: number, { index }: EgressPort, priority: number): void {
    if (frame.bth >= 0 && bth.opcode(frame.view, frame.bth) === Opcode.CNP) this.#notified(frame, ingress)
    const queue = this.#queues[index * PRIORITIES + priority]!
    if (queue === null) return
    this.#lookAt(queue, frame)
    if (!queue.active) {
      queue.active = true
      queue.meter.begin(now, queue.wred.marks)
      this.#timers.set(index, priority, now + queue.lengthNs(this.#periodNs[index]!))
    }
    queue.meter.offered(now, frame, ingress)
  }

  start(startNs: Nanos, frame: Frame, port: EgressPort): void {
    const queue = this.#queues[port.index * PRIORITIES + port.sentPriority]!
    if (queue === null) return
    this.#lookAt(queue, frame)
    queue.meter.changed(startNs)
  }

  /** Whether the packet was marked, as it came or as it leaves. */
  #lookAt(queue: TunedQueue, frame: Frame): void {
    if (queue.takeMark() && this.#pair.read(frame, 0)) queue.marked(this.#pair.hashWith(0))
  }

  timeout(at: Nanos, port: number, priority: number): void {
    const queue = this.#queues[port * PRIORITIES + priority]!
    const { meter, wred } = queue
    const before = wred.thresholds
    if (meter.isIdle) {
      queue.active = false
      const early = queue.rest(this.#roomOf(queue))
      if (early !== null) this.#log(at, queue, early, before)
      return
    }
    const why = queue.onPeriod(meter.read(at, wred.marks), this.#roomOf(queue))
    if (why !== null) this.#log(at, queue, why, before)
    meter.begin(at, wred.marks)
    this.#timers.set(port, priority, at + queue.lengthNs(this.#periodNs[port]!))
  }

  /** The queues of a port whose link goes down are emptied at once. */
  link(now: Nanos, port: number): void {
    for (const { meter } of this.#queuesOf(port)) meter.changed(now)
  }

  restart(now: Nanos): void {
    this.#flows.clear()
    for (const queue of this.#queues) {
      if (queue === null) continue
      const { port, priority, meter, wred } = queue
      const before = wred.thresholds
      queue.restart()
      meter.restart(now)
      this.#timers.set(port.index, priority, NEVER)
      if (!isSame(before, wred.thresholds)) this.#log(now, queue, 'restart', before)
    }
  }

  reset(now: Nanos): void {
    this.#windowNs = now
    for (const log of this.#logs) log.reset()
    for (const queue of this.#queues) queue?.resetWindow()
  }

  gauges(port: number): readonly Gauge[] {
    return this.#queuesOf(port).flatMap(queue => {
      const { priority, wred } = queue
      const of = String(priority)
      return [
        { name: 'kmin', of, unit: 'bytes', read: () => wred.thresholds.kminBytes },
        { name: 'kmax', of, unit: 'bytes', read: () => wred.thresholds.kmaxBytes },
        { name: 'pmax', of, unit: 'share', read: () => wred.thresholds.pmax },
        { name: 'pauses', of, unit: 'frames', read: () => queue.pausesSent },
      ]
    })
  }

  report(_now: Nanos, port: number): FeatureReport {
    const { counts, total, list } = this.#logs[port]!
    const aiEcn: AiEcnReport = {
      changes: total,
      byReason: { ...counts },
      missed: this.#flows.missed,
      queues: this.#queuesOf(port).map(
        ({ priority, wred, model, isEarly, senders, utility, periods, traffic }) => ({
          priority,
          ...wred.thresholds,
          model,
          early: isEarly,
          senders,
          utility,
          periods,
          traffic,
        }),
      ),
      decisions: [...list],
    }
    return { aiEcn }
  }

  #log(at: Nanos, queue: TunedQueue, why: DecisionReason, before: Thresholds): void {
    const { port, priority, wred, model, utility } = queue
    const atNs = at - this.#windowNs
    this.#logs[port.index]!.add({ atNs, priority, why, model, before, after: wred.thresholds, utility })
  }

  #queuesOf(port: number): TunedQueue[] {
    const from = port * PRIORITIES
    return this.#queues.slice(from, from + PRIORITIES).filter(queue => queue !== null)
  }

  /**
   * A CNP answers marks of the port by which it comes back, or of a switch behind that, of packets from the host that it goes to. It does not name
   * the priority of what was marked: it counts for queues with such marks that no CNP has answered. Where there are none, it counts for queues all
   * of whose marks are answered. So one beside it with DCTCP, whose marks no CNP answers, is not taken for one with DCQCN.
   */
  #notified(frame: Frame, port: number): void {
    if (port < 0 || !this.#pair.read(frame, 0)) return
    this.#pair.turn(0)
    const pair = this.#pair.hashWith(0)
    const from = port * PRIORITIES
    let isAnswer = false
    for (let at = from; at < from + PRIORITIES; at++)
      if (this.#queues[at]?.hasUnansweredOf(pair)) isAnswer = true
    for (let at = from; at < from + PRIORITIES; at++) {
      const queue = this.#queues[at]!
      if (queue === null) continue
      if (isAnswer ? queue.hasUnansweredOf(pair) : !queue.hasUnanswered) queue.notified(pair)
    }
  }

  #roomOf({ port, priority }: TunedQueue): Room {
    const isLossless = ((this.#losslessMask >>> priority) & 1) === 1
    if (!isLossless || this.#pfc === null)
      return { bytes: ROOM_SHARE * port.queues[priority]!.bytesMax, isOfPort: false }
    return { bytes: ROOM_SHARE * this.#pfc.accounting.thresholdBytes(), isOfPort: true }
  }
}

function unmarked(priority: number): WeirError {
  return new WeirError(
    'WEIR_BAD_ARGUMENT',
    `AI ECN: no queue of priority ${priority} is marked; set ecn for it`,
  )
}

const REASONS: Readonly<Record<DecisionReason, string>> = {
  model: 'the traffic is another one',
  try: 'a step is tried',
  back: 'back: the step was no better',
  room: 'the room below PFC, or the bound of the queue, is another one',
  early: 'the traffic is over: what comes next is marked early',
  restart: 'the switch has restarted',
}

/** When thresholds changed, and why, for reports. */
function momentsOf({ aiEcn }: { aiEcn?: AiEcnReport }): Moment[] {
  return (aiEcn?.decisions ?? []).map(({ atNs, priority, why, model, before, after, utility }) => ({
    atNs,
    of: String(priority),
    kind: why,
    cells: {
      why: why === 'model' && model === null ? 'the traffic fits no model' : REASONS[why],
      model: model ?? '-',
      kmin: changeText(formatBytes(before.kminBytes), formatBytes(after.kminBytes)),
      kmax: changeText(formatBytes(before.kmaxBytes), formatBytes(after.kmaxBytes)),
      pmax: changeText(formatPercent(before.pmax), formatPercent(after.pmax)),
      utility: utility.toFixed(3),
    },
  }))
}

function changeText(before: string, after: string): string {
  return before === after ? after : `${before} → ${after}`
}

/** A line for each queue that has had traffic, for tables. */
function linesOf({ aiEcn }: { aiEcn?: AiEcnReport }): string[] {
  return (aiEcn?.queues ?? [])
    .filter(({ periods }) => periods > 0)
    .map(({ priority, kminBytes, kmaxBytes, pmax, model, early }) => {
      const thresholds = `kmin ${formatBytes(kminBytes)}, kmax ${formatBytes(kmaxBytes)}, pmax ${formatPercent(pmax)}`
      const traffic =
        model === null ? 'unknown traffic' : `${early ? 'after ' : ''}traffic of the model ${model}`
      return `AI ECN, priority ${priority}: ${thresholds}, ${traffic}`
    })
}

const EXAMPLE = { mode: 'models' }

export const AI_ECN: FeatureEntry = {
  name: 'aiEcn',
  doc: 'AI ECN: the thresholds of `ecn` follow the traffic of each queue.',
  usual: 'they stay as given',
  example: EXAMPLE,
  about:
    'AI ECN (white paper on lossless networks). The thresholds of `ecn` are those at the beginning. Each `period` the features of a queue are compared with those of known traffic models. Where one is near, its thresholds hold; else they are tuned step by step. Marking begins below 0.8 of the threshold of PFC.',
  options: [
    {
      name: 'mode',
      kind: 'choice',
      choices: ['full', 'models', 'tune', 'observe'],
      doc: 'Thresholds by known models and else by steps, by models alone, by steps alone, or as given: then features are only counted.',
      default: 'full',
      example: 'models',
    },
    {
      name: 'priorities',
      kind: 'priorities',
      doc: 'Priorities whose queues it is for. `ecn` has to mark them.',
      default: [3],
      example: [3],
    },
    {
      name: 'period',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'How often a queue is looked at.',
      usual: '100us at 100 Gbit/s, others in inverse proportion',
      example: '200us',
    },
    {
      name: 'hold',
      kind: 'count',
      min: 1,
      max: 1000,
      doc: 'A model holds when it has been the nearest for so many periods in a row.',
      default: 2,
      example: 4,
    },
    {
      name: 'large',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'A flow that has sent so much is large.',
      default: 256_000,
      example: '1MB',
    },
    {
      name: 'flows',
      kind: 'count',
      min: 1,
      max: 1 << 20,
      doc: 'Flows that the table of the switch has room for. Packets of others count as those of small flows.',
      default: 4096,
      example: 65_536,
    },
    {
      name: 'weight',
      kind: 'share',
      min: 0,
      max: 1,
      doc: 'Share of throughput in the utility that is tuned for; the rest is that of a short queue.',
      default: 0.7,
      example: 0.5,
    },
    {
      name: 'least',
      kind: 'time',
      min: 0,
      max: MOST,
      doc: '`kmin` is at least what the line sends in this time, and 1500B. Lines below 4.8 Gbit/s count as one with so much.',
      default: 200,
      example: '1us',
    },
    {
      name: 'most',
      kind: 'time',
      min: 1,
      max: MOST,
      doc: '`kmax` is at most what the line sends in this time. Lines below 4.8 Gbit/s count as one with so much.',
      default: 100_000,
      example: '50us',
    },
  ],
  check: ({ leastNs, mostNs }: AiEcnOptions) =>
    leastNs > mostNs ? [{ option: 'least', wrong: 'least must not be above most' }] : [],
  figures: [
    { name: 'aiEcn.changes', column: 'ECN changes' },
    { name: 'aiEcn.missed', column: 'unknown flows' },
  ],
  lines: linesOf as never,
  moments: { title: 'AI ECN: why thresholds changed', of: momentsOf as never },
  create: (options: AiEcnOptions, sw, timers) => new AiEcn(options, sw, timers),
}
