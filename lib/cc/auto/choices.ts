/**
 * Which controller is for which path, the first that suits. CUBIC is for all others: it needs nothing of the path, and shares it with TCP.
 * docs/measured/controllers.md has what was measured for each.
 */
import type { CongestionContext, CongestionControl } from '../congestion-control.js'
import { Dcqcn } from '../dcqcn/dcqcn.js'
import { HPCC_OPTIONS, Hpcc } from '../hpcc/hpcc.js'
import type { OptionSpec, OptionValues } from '../options.js'
import type { PathFacts } from './path-facts.js'

/** A controller that goes on from where another one was. */
export interface Successor extends CongestionControl {
  takeOver(now: number, windowBytes: number, sndNxt: number): void
}

/** A row of the table. */
export interface Choice {
  readonly name: string
  suits(path: PathFacts): boolean
  /** Why it is in force, for people. */
  readonly reason: string
  /** It hears only answers with telemetry of switches, and only of the path for which it was made. */
  readonly byTelemetry: boolean
  /** Those of its options that `auto` has too. */
  readonly options: readonly OptionSpec[]
  make(context: CongestionContext, options: OptionValues): Successor
}

/** The options of HPCC++, except that the receiver counts N: nobody has set it to the flows that this network carries. */
export const HPCC_HERE = HPCC_OPTIONS.map(
  spec => (spec.name === 'countFlows' ? { ...spec, default: true } : spec) as OptionSpec,
)

const CHOICES: readonly Choice[] = [
  {
    name: 'hpcc',
    suits: path => path.telling,
    reason: 'the switches on the path write telemetry',
    byTelemetry: true,
    options: HPCC_OPTIONS,
    make: (context, options) => new Hpcc(context, { countFlows: 1, ...options }),
  },
  {
    name: 'dcqcn',
    // Without marks nothing but losses holds it: CUBIC is in force until a CNP has come, and where packets are lost without one.
    suits: path => path.foreign && path.marking,
    reason: 'the peer is another RoCEv2 host, and answers marks of the path by CNPs',
    byTelemetry: false,
    options: [],
    make: context => new Dcqcn(context),
  },
]

/** The first one that suits; null: CUBIC. */
export function choiceFor(path: PathFacts): Choice | null {
  // At each acknowledgement: an iterator or a callback would take longer than the questions.
  for (let i = 0; i < CHOICES.length; i++) if (CHOICES[i]!.suits(path)) return CHOICES[i]!
  return null
}
