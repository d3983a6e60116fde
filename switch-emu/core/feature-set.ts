import { WeirError } from '../../lib/errors.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { type FeatureOptions, featureEntries } from './catalogue.js'
import type { FeatureClass, FeatureReport, FeatureSwitch, SwitchFeature } from './feature/feature.js'
import type { FeatureEntry } from './feature/feature-entry.js'
import { QueueTimers, type TimerOwner } from './feature/queue-timers.js'
import type { EnqueueStage, GrowStage } from './queueing/egress-port.js'
import type { PortFigures } from './queueing/port-report.js'

type Stage<K extends keyof SwitchFeature> = Required<Pick<SwitchFeature, K>>
/** Admits frames, and learns when they leave. */
type AdmitStage = Stage<'admit'> & Pick<SwitchFeature, 'leave'>

/** A feature with timers. */
interface Timed {
  owner: TimerOwner
  timers: QueueTimers
}

/**
 * The enabled features of one switch: for each stage a list of those that act there, in the order of the
 * catalogue.
 */
export class FeatureSet {
  readonly arrive: Stage<'arrive'>[] = []
  readonly admit: AdmitStage[] = []
  readonly enqueue: EnqueueStage[] = []
  readonly offered: Stage<'offered'>[] = []
  readonly grow: GrowStage[] = []
  readonly start: Stage<'start'>[] = []
  readonly pause: Stage<'pause'>[] = []
  /** True if one of them may set a timer. */
  hasTimers = false
  readonly #all: SwitchFeature[] = []
  readonly #timed: Timed[] = []

  /**
   * Creates the features.
   *
   * @param options by name, see `catalogue.ts`
   */
  create(options: FeatureOptions, sw: FeatureSwitch): void {
    for (const { entry, given } of chosen(options)) {
      const timers = new QueueTimers(sw.ports.length)
      const feature = entry.create(given as never, sw, timers)
      this.#all.push(feature)
      if (has(feature, 'arrive')) this.arrive.push(feature)
      if (has(feature, 'admit')) this.admit.push(feature)
      if (has(feature, 'enqueue')) this.enqueue.push(feature)
      if (has(feature, 'offered')) this.offered.push(feature)
      if (has(feature, 'grow')) this.grow.push(feature)
      if (has(feature, 'start')) this.start.push(feature)
      if (has(feature, 'pause')) this.pause.push(feature)
      if (has(feature, 'timeout')) this.#timed.push({ owner: feature, timers })
    }
    this.hasTimers = this.#timed.length > 0
  }

  /** Returns the feature of that class, or null if it is off. */
  find<T extends SwitchFeature>(kind: FeatureClass<T>): T | null {
    return (this.#all.find(feature => feature instanceof kind) as T | undefined) ?? null
  }

  nextTimeout(): Nanos {
    let first = NEVER
    for (let i = 0; i < this.#timed.length; i++) {
      first = Math.min(first, this.#timed[i]!.timers.nextTimeout())
    }
    return first
  }

  onTimeout(now: Nanos): void {
    for (const { owner, timers } of this.#timed) timers.onTimeout(now, owner)
  }

  reset(now: Nanos): void {
    for (const feature of this.#all) feature.reset?.(now)
  }

  /** Returns the members that all features add to the report of a port. */
  report(now: Nanos, port: number, figures: PortFigures): FeatureReport {
    return Object.assign({}, ...this.#all.map(feature => feature.report?.(now, port, figures)))
  }
}

/** Bit p: a feature makes priority p lossless. */
export function losslessMaskOf(options: FeatureOptions): number {
  return chosen(options).reduce(
    (mask, { entry, given }) => mask | (entry.losslessMask?.(given as never) ?? 0),
    0,
  )
}

/** Returns the enabled features. Throws WEIR_BAD_ARGUMENT for a name that the catalogue does not have. */
function chosen(options: FeatureOptions): { entry: FeatureEntry; given: unknown }[] {
  const names = featureEntries().map(({ name }) => name)
  const unknown = Object.keys(options).find(name => !names.includes(name))
  if (unknown !== undefined) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `no feature of a switch is called ${unknown}; there are ${names.join(', ')}`,
    )
  }
  const all = options as Readonly<Record<string, unknown>>
  return featureEntries()
    .map(entry => ({ entry, given: all[entry.name] ?? entry.standard ?? false }))
    .filter(({ given }) => given !== false)
}

function has<K extends keyof SwitchFeature>(
  feature: SwitchFeature,
  stage: K,
): feature is SwitchFeature & Stage<K> {
  return feature[stage] !== undefined
}
