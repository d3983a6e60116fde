import { WeirError } from '../../lib/errors.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { type FeatureOptions, featureEntries } from './catalogue.js'
import type { FeatureClass, FeatureReport, FeatureSwitch, Gauge, SwitchFeature } from './feature/feature.js'
import type { FeatureEntry } from './feature/feature-entry.js'
import {
  AdmitInTurn,
  type AdmitStage,
  ArriveInTurn,
  type ArriveStage,
  EnqueueInTurn,
  ForwardInTurn,
  type ForwardStage,
  GrowInTurn,
  LinkLocalInTurn,
  type LinkLocalStage,
  OfferedInTurn,
  type OfferedStage,
  PauseInTurn,
  type PauseStage,
  StartInTurn,
  type StartStage,
} from './feature/in-turn.js'
import { QueueTimers, type TimerOwner } from './feature/queue-timers.js'
import type { EnqueueStage, GrowStage } from './queueing/egress-port.js'
import type { PortFigures } from './queueing/port-report.js'

/** A feature with timers. */
interface Timed {
  owner: TimerOwner
  timers: QueueTimers
}

/**
 * The enabled features of one switch: at each stage the one that acts there, or several in the order of the
 * catalogue as one, or null.
 */
export class FeatureSet {
  forward: ForwardStage | null = null
  arrive: ArriveStage | null = null
  admit: AdmitStage | null = null
  enqueue: EnqueueStage | null = null
  offered: OfferedStage | null = null
  grow: GrowStage | null = null
  start: StartStage | null = null
  pause: PauseStage | null = null
  linkLocal: LinkLocalStage | null = null
  /** One of them draws random numbers. */
  draws = false
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
      this.draws ||= entry.draws ?? false
      if (has(feature, 'timeout')) this.#timed.push({ owner: feature, timers })
    }
    const all = this.#all
    this.forward = atStage(all, 'forward', (one, other) => new ForwardInTurn(one, other))
    this.arrive = atStage(all, 'arrive', (one, other) => new ArriveInTurn(one, other))
    this.admit = atStage<'admit', AdmitStage>(all, 'admit', (one, other) => new AdmitInTurn(one, other))
    this.enqueue = atStage(all, 'enqueue', (one, other) => new EnqueueInTurn(one, other))
    this.offered = atStage(all, 'offered', (one, other) => new OfferedInTurn(one, other))
    this.grow = atStage(all, 'grow', (one, other) => new GrowInTurn(one, other))
    this.start = atStage(all, 'start', (one, other) => new StartInTurn(one, other))
    this.linkLocal = atStage(all, 'linkLocal', (one, other) => new LinkLocalInTurn(one, other))
    this.pause = atStage(all, 'pause', (one, other) => new PauseInTurn(one, other))
  }

  /** True if one of them may set a timer. */
  get hasTimers(): boolean {
    return this.#timed.length > 0
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

  link(now: Nanos, port: number, isUp: boolean): void {
    for (const feature of this.#all) feature.link?.(now, port, isUp)
  }

  restart(now: Nanos): void {
    for (const feature of this.#all) feature.restart?.(now)
  }

  reset(now: Nanos): void {
    for (const feature of this.#all) feature.reset?.(now)
  }

  /** Returns what samplers may read of a port. */
  gauges(port: number): readonly Gauge[] {
    return this.#all.flatMap(feature => feature.gauges?.(port) ?? [])
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

type Stage<K extends keyof SwitchFeature> = Required<Pick<SwitchFeature, K>>

/** Returns the features that act at a stage, as one, or null. */
function atStage<K extends keyof SwitchFeature, T extends SwitchFeature = Stage<K>>(
  features: readonly SwitchFeature[],
  stage: K,
  inTurn: (one: T, other: T) => T,
): T | null {
  const those = features.filter(feature => has(feature, stage)) as unknown as T[]
  return those.length === 0 ? null : those.reduceRight((rest, feature) => inTurn(feature, rest))
}

function has<K extends keyof SwitchFeature>(
  feature: SwitchFeature,
  stage: K,
): feature is SwitchFeature & Stage<K> {
  return feature[stage] !== undefined
}
