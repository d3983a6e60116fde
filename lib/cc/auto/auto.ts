/**
 * The default: it has the controller in force that suits the path (`choices.ts`), as far as the path is known (`path-facts.ts`). CUBIC
 * always listens, so that it can take over. Whoever takes over goes on with the window of the one before.
 */
import { type Nanos, NEVER } from '../../time/nanos.js'
import {
  type AckSample,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
  NO_WINDOW,
} from '../congestion-control.js'
import { Cubic } from '../cubic/cubic.js'
import { CUBIC_OPTIONS } from '../cubic/cubic-options.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'
import { slowestLinkBps } from '../path-switches.js'
import { type Choice, choiceFor, HPCC_HERE, type Successor } from './choices.js'
import { PathFacts } from './path-facts.js'

const OWN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'confirm',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 2,
    doc: 'answers in a row with telemetry of a switch after which HPCC++ takes over',
  },
  {
    name: 'patience',
    kind: 'number',
    min: 1,
    max: 1e6,
    default: 4,
    doc: 'round trips with data in flight and without telemetry of a switch after which HPCC++ gives way; and without a CNP before a loss, after which DCQCN does',
  },
]

/** Its own, and those of HPCC++ and CUBIC: no name is in two lists. The others have their defaults. */
export const AUTO_OPTIONS: readonly OptionSpec[] = [...OWN_OPTIONS, ...CUBIC_OPTIONS, ...HPCC_HERE]

const REASONS = {
  unknown: 'no switch on the path has written telemetry',
  foreign: 'the peer is no Weir host, and has sent no CNP',
  silent: 'telemetry of the path has stayed away',
  unmarked: 'packets are lost on the path without CNPs before',
  untold: 'the path has changed, and no switch on the new one has written telemetry',
  unanswered: 'the path has changed, and no CNP has come of the new one',
  kept: 'the path has changed; the switches on the one before wrote telemetry',
}

/** The controller of one flow. */
export class Auto implements CongestionControl {
  readonly name = 'auto'
  readonly observed = ['windowBytes', 'rateBps', 'isHpcc'] as const
  readonly #context: CongestionContext
  readonly #options: OptionValues
  readonly #path: PathFacts
  readonly #cubic: Cubic
  /** What is in force; null: CUBIC. */
  #choice: Choice | null = null
  #chosen: Successor | null = null
  #reason: string
  #baseRttNs: Nanos
  /** The path that a controller by telemetry was made for, and the rate of its slowest link. */
  #pathId = 0
  #slowestBps: number
  #sndNxt = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#context = context
    this.#options = options
    const confirm = optionNumber('auto', AUTO_OPTIONS, options, 'confirm')
    const roundTrips = optionNumber('auto', AUTO_OPTIONS, options, 'patience')
    const begins = context.careful !== true
    this.#path = new PathFacts(context, { confirm, roundTrips }, begins)
    this.#cubic = new Cubic(context, only(options, CUBIC_OPTIONS))
    this.#baseRttNs = context.baseRttNs
    this.#slowestBps = Math.min(context.lineRateBps, context.probed?.slowestBps ?? context.lineRateBps)
    this.#pathId = context.probed?.pathId ?? 0
    this.#choice = choiceFor(this.#path)
    this.#reason = this.#whyNone
    if (this.#choice === null) return
    this.#reason = begins ? 'flows start at line rate' : this.#choice.reason
    if (begins) this.#chosen = this.#choice.make(context, only(options, this.#choice.options))
    // Probes have shown telemetry: it begins with the window with which a careful flow begins.
    else this.#chosen = this.#make(0, this.#choice, this.#cubic.windowBytes())
  }

  get inForce(): string {
    return this.#inForce.name
  }

  get #inForce(): CongestionControl {
    return this.#chosen ?? this.#cubic
  }

  get reason(): string {
    return this.#reason
  }

  /** Every packet collects telemetry at the beginning, and from the first telemetry of a switch on. */
  get collectsAll(): boolean {
    return this.#path.mayTell
  }

  get ackShare(): number | undefined {
    return this.#chosen === null ? this.#cubic.ackShare : this.#chosen.ackShare
  }

  windowBytes(): number {
    return this.#inForce.windowBytes()
  }

  rateBps(): number {
    return this.#inForce.rateBps()
  }

  nextTimeout(): Nanos {
    return this.#chosen?.nextTimeout?.() ?? NEVER
  }

  onTimeout(now: Nanos): void {
    this.#chosen?.onTimeout?.(now)
  }

  onSent(now: Nanos, seq: number, bytes: number): void {
    this.#sndNxt = seq + 1
    this.#path.onSent(now)
    this.#cubic.onSent(now, seq, bytes)
    this.#chosen?.onSent?.(now, seq, bytes)
  }

  onAck(now: Nanos, sample: AckSample): void {
    this.#cubic.onAck(now, sample)
    const tells = this.#look(now, sample)
    if (tells || this.#choice?.byTelemetry === false) this.#chosen?.onAck(now, sample)
  }

  onTelemetry(now: Nanos, sample: AckSample): void {
    const tells = this.#look(now, sample)
    if (tells || this.#choice?.byTelemetry === false) this.#chosen?.onTelemetry?.(now, sample)
  }

  onDirectResponse(now: Nanos, sample: AckSample): void {
    this.#chosen?.onDirectResponse?.(now, sample)
  }

  onCnp(now: Nanos, sample: AckSample): void {
    this.#path.onCnp(now)
    // Whoever takes over reacts to it, from the window before.
    this.#choose(now)
    this.#cubic.onCnp(now)
    this.#chosen?.onCnp?.(now, sample)
  }

  onLoss(now: Nanos, loss: LossSample): void {
    this.#cubic.onLoss(now, loss)
    this.#chosen?.onLoss(now, loss)
    this.#path.onLoss(now, this.#roundTripNs)
    if (loss.byTimeout) this.#path.onMissing(now, this.#roundTripNs)
    this.#choose(now)
  }

  onSpurious(now: Nanos): void {
    this.#cubic.onSpurious(now)
    this.#chosen?.onSpurious?.(now)
  }

  onBaseRtt(now: Nanos, baseRttNs: Nanos): void {
    this.#baseRttNs = baseRttNs
    this.#cubic.onBaseRtt(now, baseRttNs)
    this.#chosen?.onBaseRtt?.(now, baseRttNs)
  }

  onPathChange(): void {
    this.#cubic.onPathChange()
    this.#chosen?.onPathChange?.()
    this.#path.onPathChange()
    if (this.#choice?.byTelemetry === true) this.#reason = REASONS.kept
  }

  get #roundTripNs(): Nanos {
    return Math.max(this.#cubic.srttNs, this.#baseRttNs)
  }

  /** An answer may change what is in force. True if it has telemetry of the path. */
  #look(now: Nanos, { hops, sndNxt }: AckSample): boolean {
    this.#sndNxt = sndNxt
    const { changed } = this.#path
    const tells = this.#path.onAnswer(now, hops, this.#roundTripNs)
    const isNewPath = tells && this.#choice?.byTelemetry === true && (changed || hops.pathId !== this.#pathId)
    if (tells) {
      // The host's own link may be a thousand times as fast as the slowest one: HPCC++'s greatest window and its steps follow from that.
      this.#slowestBps = Math.min(this.#context.lineRateBps, slowestLinkBps(hops))
      this.#pathId = hops.pathId
    }
    this.#choose(now, isNewPath)
    return tells
  }

  /** Has in force what suits the path now. @param anew it has to be made anew, as for another path */
  #choose(now: Nanos, anew = false): void {
    const choice = choiceFor(this.#path)
    if (choice === this.#choice && !anew) return
    const windowBytes = this.#inFlightBytes
    const before = this.#choice
    this.#choice = choice
    if (choice === null) {
      this.#cubic.takeOver(now, windowBytes, this.#sndNxt)
      this.#chosen = null
      this.#reason = this.#whyCubic(before)
      return
    }
    this.#chosen = this.#make(now, choice, windowBytes)
    this.#reason = choice.reason
  }

  /** @param windowBytes with which it goes on */
  #make(now: Nanos, choice: Choice, windowBytes: number): Successor {
    const lineRateBps = choice.byTelemetry ? this.#slowestBps : this.#context.lineRateBps
    const context = { ...this.#context, baseRttNs: this.#baseRttNs, lineRateBps }
    const made = choice.make(context, only(this.#options, choice.options))
    made.takeOver(now, windowBytes, this.#sndNxt)
    return made
  }

  /** @param before what was in force */
  #whyCubic(before: Choice | null): string {
    const { changed, told } = this.#path
    if (before?.byTelemetry === false) return changed ? REASONS.unanswered : REASONS.unmarked
    if (changed) return REASONS.untold
    return told ? REASONS.silent : this.#whyNone
  }

  /** Why CUBIC is in force as long as nothing has come back. */
  get #whyNone(): string {
    return this.#path.foreign ? REASONS.foreign : REASONS.unknown
  }

  /** The window that is handed over; of a controller that bounds no bytes in flight, what its rate has in flight. */
  get #inFlightBytes(): number {
    const windowBytes = this.windowBytes()
    return windowBytes === NO_WINDOW ? (this.rateBps() * this.#roundTripNs) / 8e9 : windowBytes
  }

  observe(into: Float64Array): void {
    into[0] = this.windowBytes()
    into[1] = this.rateBps()
    into[2] = this.#choice?.byTelemetry === true ? 1 : 0
  }
}

/** The options that are in the list. */
function only(options: OptionValues, specs: readonly OptionSpec[]): OptionValues {
  return Object.fromEntries(Object.entries(options).filter(([name]) => specs.some(s => s.name === name)))
}
