/**
 * Last-hop congestion speedup, LHCS (FNCC, section 3.2.2, algorithm 2). All flows through the last link of a path end at one receiver,
 * which knows how many they are. Where that link is the busiest and congested, each flow can go to its fair share at once:
 *
 *     if hop = last hop and U_max > alpha:   Wc <- B T beta / N
 *
 * | symbol      | meaning                                                              | unit    | default |
 * |-------------|----------------------------------------------------------------------|---------|---------|
 * | U_max, hop  | u' of the busiest link (line 5 of HPCC++, not averaged), and its row |         |         |
 * | alpha       | U_max above which the last link counts as congested, 1 to 2          |         | 1.05    |
 * | beta        | share of the fair window that flows get, so that the queue drains    |         | 0.9     |
 * | B           | rate of the last link, from its telemetry                            | bit/s   |         |
 * | T           | base RTT                                                             | ns      |         |
 * | N           | flows that send to the receiver now, 16 bits; 0 = it does not tell   |         |         |
 *
 * W follows from Wc by HPCC++'s own rule (algorithm 3, lines 30 to 34), so U / eta takes from it as well while the queue lasts.
 * Nothing is done where telemetry has no place or rate of the last link: it names only the busiest hop, hops are missing, or it has only
 * ratios.
 */
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { ByOptions, type OptionSpec, type OptionValues, optionFlag, optionNumber } from '../options.js'
import type { HpccCore } from './hpcc-core.js'

/** @param on the default of `lastHop` */
export function lastHopOptions(on: boolean): readonly OptionSpec[] {
  const idle = [{ while: { lastHop: false } }]
  return [
    {
      name: 'lastHop',
      kind: 'flag',
      default: on,
      doc: 'a congested last link gives each flow its fair share at once, by N of the receiver (LHCS: FNCC, section 3.2.2)',
    },
    {
      name: 'lastHopAlpha',
      kind: 'number',
      min: 1,
      max: 2,
      default: 1.05,
      doc: 'alpha: utilization of the last link above which it is congested (FNCC, algorithm 2)',
      idle,
    },
    {
      name: 'lastHopBeta',
      kind: 'number',
      min: 0.1,
      max: 1,
      default: 0.9,
      doc: 'beta: share of the fair window that flows get while the last link is congested (FNCC, algorithm 2)',
      idle,
    },
  ]
}

/** It remembers nothing of a flow. */
export class LastHop {
  readonly #on: boolean
  readonly #alpha: number
  readonly #beta: number

  /** @param controller its name, for messages; @param specs its options, with `lastHopOptions` */
  constructor(controller: string, specs: readonly OptionSpec[], options: OptionValues) {
    this.#on = optionFlag(controller, specs, options, 'lastHop')
    this.#alpha = optionNumber(controller, specs, options, 'lastHopAlpha')
    this.#beta = optionNumber(controller, specs, options, 'lastHopBeta')
  }

  /** UpdateWc of algorithm 2. @param hops the telemetry that the core has measured last */
  updateReference(core: HpccCore, hops: HopRecords): void {
    const congested = this.#on && hops.flows > 0 && core.busiestUtilization > this.#alpha
    if (!congested || hops.ratioOnly || !core.endsBusiest) return
    const bdp = (hops.rateBps[core.busiestRow]! * core.t) / 8e9
    core.setReferenceWindow(core.bounded((bdp * this.#beta) / hops.flows))
  }
}

/** One for all connections that have the same options. */
export const LAST_HOPS = new ByOptions(
  (controller, specs, options) => new LastHop(controller, specs, options),
)
