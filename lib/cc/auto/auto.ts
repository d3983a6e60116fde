/**
 * The default. HPCC++ decides where switches write telemetry, CUBIC everywhere else, and at the beginning, when nothing is
 * known. When telemetry appears or stays away, the other controller takes over with the current window.
 *
 * A record of the receiving host alone is no telemetry of the path: it says nothing of links.
 */
import type { Nanos } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import type { AckSample, CongestionContext, CongestionControl, LossSample } from '../congestion-control.js'
import { Cubic } from '../cubic/cubic.js'
import { CUBIC_OPTIONS } from '../cubic/cubic-options.js'
import { HPCC_OPTIONS, Hpcc } from '../hpcc/hpcc.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'

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
    doc: 'round trips with data in flight and without telemetry of a switch after which CUBIC takes over',
  },
]

/** The options of HPCC++, except that the receiver counts N: nobody has set it to the flows that this network carries. */
const HPCC_HERE = HPCC_OPTIONS.map(
  spec => (spec.name === 'countFlows' ? { ...spec, default: true } : spec) as OptionSpec,
)

/** Its own, and those of the controllers that it chooses between: no name is in two lists. */
export const AUTO_OPTIONS: readonly OptionSpec[] = [...OWN_OPTIONS, ...CUBIC_OPTIONS, ...HPCC_HERE]

const UNKNOWN_PATH = 'no switch on the path has written telemetry'
const TELLING_PATH = 'the switches on the path write telemetry'
const SILENT_PATH = 'telemetry of the path has stayed away'

/** The controller of one flow. */
export class Auto implements CongestionControl {
  readonly name = 'auto'
  readonly observed = ['windowBytes', 'rateBps', 'isHpcc'] as const
  readonly #context: CongestionContext
  readonly #hpccOptions: OptionValues
  readonly #confirm: number
  readonly #patience: number
  /** Always listens, so that it can take over. */
  readonly #cubic: Cubic
  /** Null while CUBIC is in force. */
  #hpcc: (Hpcc & CongestionControl) | null = null
  #reason = UNKNOWN_PATH
  #baseRttNs: Nanos
  /** Answers in a row with telemetry of a switch; after any without, 0. */
  #telling = 0
  /** True once an answer without telemetry has come: from then on some packets still collect, to find it again. */
  #silent = false
  #toldNs: Nanos = 0
  /** The path that HPCC++ was begun for. */
  #pathId = 0
  #sndNxt = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#context = context
    this.#confirm = optionNumber('auto', AUTO_OPTIONS, options, 'confirm')
    this.#patience = optionNumber('auto', AUTO_OPTIONS, options, 'patience')
    this.#hpccOptions = { countFlows: 1, ...only(options, HPCC_OPTIONS) }
    this.#cubic = new Cubic(context, only(options, CUBIC_OPTIONS))
    this.#baseRttNs = context.baseRttNs
    if (context.careful) return
    this.#hpcc = new Hpcc(context, this.#hpccOptions)
    this.#reason = 'flows start at line rate'
  }

  get inForce(): string {
    return (this.#hpcc ?? this.#cubic).name
  }

  get reason(): string {
    return this.#reason
  }

  /** Every packet collects telemetry at the beginning, and from the first telemetry of a switch on. */
  get collectsAll(): boolean {
    return this.#hpcc !== null || this.#telling > 0 || !this.#silent
  }

  get ackShare(): number | undefined {
    return this.#hpcc === null ? this.#cubic.ackShare : undefined
  }

  windowBytes(): number {
    return (this.#hpcc ?? this.#cubic).windowBytes()
  }

  rateBps(): number {
    return (this.#hpcc ?? this.#cubic).rateBps()
  }

  onSent(now: Nanos, seq: number, bytes: number): void {
    this.#sndNxt = seq + 1
    if (this.#toldNs === 0) this.#toldNs = now
    this.#cubic.onSent(now, seq, bytes)
    this.#hpcc?.onSent(now, seq, bytes)
  }

  onAck(now: Nanos, sample: AckSample): void {
    this.#cubic.onAck(now, sample)
    if (this.#look(now, sample)) this.#hpcc?.onAck(now, sample)
  }

  onTelemetry(now: Nanos, sample: AckSample): void {
    if (this.#look(now, sample)) this.#hpcc?.onTelemetry(now, sample)
  }

  onDirectResponse(now: Nanos, sample: AckSample): void {
    this.#hpcc?.onDirectResponse(now, sample)
  }

  onCnp(now: Nanos): void {
    this.#cubic.onCnp(now)
  }

  onLoss(now: Nanos, loss: LossSample): void {
    this.#cubic.onLoss(now, loss)
    this.#hpcc?.onLoss(now, loss)
    if (loss.byTimeout) this.#missTelemetry(now)
  }

  onSpurious(now: Nanos): void {
    this.#cubic.onSpurious(now)
    this.#hpcc?.onSpurious?.(now)
  }

  onBaseRtt(now: Nanos, baseRttNs: Nanos): void {
    this.#baseRttNs = baseRttNs
    this.#cubic.onBaseRtt(now, baseRttNs)
    this.#hpcc?.onBaseRtt?.(now, baseRttNs)
  }

  onPathChange(): void {
    this.#cubic.onPathChange()
    this.#hpcc?.onPathChange()
    this.#telling = 0
    this.#silent = false
    this.#toldNs = 0
  }

  /** Chooses the controller after an answer. True if the answer has telemetry of the path. */
  #look(now: Nanos, { hops, sndNxt }: AckSample): boolean {
    this.#sndNxt = sndNxt
    if (!tellsOfSwitches(hops)) {
      this.#telling = 0
      this.#silent = true
      this.#missTelemetry(now)
      return false
    }
    this.#toldNs = now
    this.#telling++
    const isNewPath = this.#hpcc !== null && hops.pathId !== this.#pathId
    if ((this.#hpcc === null && this.#telling >= this.#confirm) || isNewPath) this.#useHpcc(now, hops)
    return true
  }

  #useHpcc(now: Nanos, hops: HopRecords): void {
    const windowBytes = this.windowBytes()
    const context = { ...this.#context, baseRttNs: this.#baseRttNs, lineRateBps: this.#slowest(hops) }
    this.#hpcc = new Hpcc(context, this.#hpccOptions)
    this.#hpcc.takeOver(now, windowBytes, this.#sndNxt)
    this.#pathId = hops.pathId
    this.#reason = TELLING_PATH
  }

  /**
   * The rate of the slowest link in the telemetry: HPCC++'s greatest window and its steps follow from it. The
   * host's own link may be a thousand times as fast.
   */
  #slowest(hops: HopRecords): number {
    let slowest = this.#context.lineRateBps
    if (hops.ratioOnly) return slowest
    for (let i = 0; i < switchesOf(hops); i++) {
      if (hops.rateBps[i]! > 0) slowest = Math.min(slowest, hops.rateBps[i]!)
    }
    return slowest
  }

  /** CUBIC takes over when telemetry has stayed away for long enough. */
  #missTelemetry(now: Nanos): void {
    const hpcc = this.#hpcc
    if (hpcc === null) return
    const roundTripNs = Math.max(this.#cubic.srttNs, this.#baseRttNs)
    if (now - this.#toldNs <= this.#patience * roundTripNs) return
    this.#cubic.takeOver(now, hpcc.windowBytes(), this.#sndNxt)
    this.#hpcc = null
    this.#reason = this.#reason === TELLING_PATH ? SILENT_PATH : UNKNOWN_PATH
  }

  observe(into: Float64Array): void {
    into[0] = this.windowBytes()
    into[1] = this.rateBps()
    into[2] = this.#hpcc === null ? 0 : 1
  }
}

function switchesOf(hops: HopRecords): number {
  return hops.count - (hops.endsAtHost ? 1 : 0)
}

function tellsOfSwitches(hops: HopRecords): boolean {
  return switchesOf(hops) > 0
}

/** The options that are in the list. */
function only(options: OptionValues, specs: readonly OptionSpec[]): OptionValues {
  return Object.fromEntries(Object.entries(options).filter(([name]) => specs.some(s => s.name === name)))
}
