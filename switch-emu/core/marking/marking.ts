import type { Frame } from '../../../lib/frame/frame.js'
import { MOST, type Option } from '../../../lib/options/option.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { DropReason } from '../queueing/counters.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'
import { type EcnOptions, Wred, WredVerdict } from './wred.js'

/** Marking of all queues, or a list for priorities. The first entry that contains a priority counts. */
export type MarkingOptions = EcnOptions | readonly EcnOptions[]

/** WRED with ECN at every port of a switch: it marks packets as they enter their queues. */
export class Marking implements SwitchFeature {
  /**
   * By port x 8 + priority. Null: the queue is not marked. Queues of one priority share theirs until one has its own (`own`), because
   * `Wred` keeps no state of a queue.
   */
  protected readonly wreds: (Wred | null)[]
  /** The same for frames of drop precedence 1. */
  protected readonly larges: (Wred | null)[]
  readonly #of: readonly (EcnOptions | undefined)[]
  readonly #make: (options: EcnOptions, priority: number) => Wred

  constructor(markings: readonly EcnOptions[], { ports, random, losslessMask }: FeatureSwitch) {
    this.#make = (options, p) => new Wred(options, random, ((losslessMask >>> p) & 1) === 0)
    this.#of = Array.from({ length: PRIORITIES }, (_, p) =>
      markings.find(({ priorities }) => priorities === undefined || priorities.includes(p)),
    )
    const wreds = this.#of.map((marking, p) => (marking === undefined ? null : this.#make(marking, p)))
    const larges = this.#of.map((marking, p) =>
      marking?.large === undefined ? wreds[p]! : this.#make({ ...marking, ...marking.large }, p),
    )
    this.wreds = ports.flatMap(() => wreds)
    this.larges = ports.flatMap(() => larges)
  }

  /**
   * Gives a queue thresholds of its own, for frames of drop precedence 0, and returns them: at first they are those of its priority. Returns
   * null if the queue is not marked.
   */
  own(port: number, priority: number): Wred | null {
    const options = this.#of[priority]
    if (options === undefined) return null
    const wred = this.#make(options, priority)
    const at = port * PRIORITIES + priority
    if (options.large === undefined) this.larges[at] = wred
    this.wreds[at] = wred
    return wred
  }

  enqueue(_now: Nanos, frame: Frame, port: EgressPort, priority: number): DropReason {
    const wred = (frame.dropPrecedence === 0 ? this.wreds : this.larges)[port.index * PRIORITIES + priority]!
    if (wred === null) return DropReason.NONE
    const verdict = wred.onEnqueue(frame, port.queues[priority]!.bytes)
    if (verdict === WredVerdict.DROP) return DropReason.WRED
    if (verdict === WredVerdict.MARKED) port.counters.onMarked()
    return DropReason.NONE
  }
}

/** The same where some queues mark packets as they leave. Other switches spare each frame that look. */
class LeavingMarking extends Marking {
  start(_startNs: Nanos, frame: Frame, port: EgressPort): void {
    const priority = port.sentPriority
    const wred = (frame.dropPrecedence === 0 ? this.wreds : this.larges)[port.index * PRIORITIES + priority]
    if (wred?.onDequeue(frame, port.queues[priority]!.bytes) === true) port.counters.onMarked()
  }
}

function create(options: MarkingOptions, sw: FeatureSwitch): SwitchFeature {
  const markings = Array.isArray(options) ? (options as readonly EcnOptions[]) : [options as EcnOptions]
  const atDequeue = markings.some(({ at }) => at === 'dequeue')
  return atDequeue ? new LeavingMarking(markings, sw) : new Marking(markings, sw)
}

const THRESHOLDS: readonly Option[] = [
  {
    name: 'kmin',
    kind: 'bytes',
    min: 0,
    max: MOST,
    doc: 'Up to this queue nothing is marked [green_min_threshold].',
    example: '100KB',
  },
  {
    name: 'kmax',
    kind: 'bytes',
    min: 0,
    max: MOST,
    doc: 'Above this queue everything is marked [green_max_threshold].',
    example: '400KB',
  },
  {
    name: 'pmax',
    kind: 'share',
    min: 0,
    max: 1,
    doc: 'Probability of a mark as the queue nears `kmax` [green_drop_probability].',
    default: 0.2,
    example: '1%',
  },
]

export const MARKING: FeatureEntry = {
  name: 'ecn',
  doc: 'Marking of egress queues.',
  usual: 'nothing is marked',
  example: { kmin: '100KB', kmax: '400KB' },
  about:
    'Marking of egress queues [WRED_PROFILE]. Packets that are not ECN-capable are dropped instead of marked, except from lossless queues. A list of such mappings marks each priority its own way.',
  several: true,
  draws: true,
  options: [
    ...THRESHOLDS,
    {
      name: 'at',
      kind: 'choice',
      choices: ['enqueue', 'dequeue'],
      doc: 'Packets are marked as they enter the queue, or as they leave it (Fast ECN).',
      default: 'enqueue',
      example: 'dequeue',
    },
    {
      name: 'priorities',
      kind: 'priorities',
      doc: 'Priorities whose queues are marked.',
      default: [0, 1, 2, 3, 4, 5, 6, 7],
      example: [3],
    },
    {
      name: 'large',
      kind: 'mapping',
      doc: 'Thresholds of packets of large flows, beside `largeFlows`: a second profile of the queue, for their drop precedence [yellow_min_threshold].',
      usual: 'those of all packets',
      example: { kmin: '50KB', kmax: '200KB' },
      options: THRESHOLDS,
    },
  ],
  create,
}
