/**
 * One scenario with several starts, because the fairness of a controller depends on which flow begins a
 * moment earlier.
 */
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { Random } from '../../lib/sim/random.js'

/**
 * Returns `count` copies of the scenario. In each copy every flow starts up to T later, drawn by the seed.
 */
export function jitteredStarts(scenario: Scenario, count: number, seed: number): Scenario[] {
  const random = new Random(seed)
  const tNs = scenario.baseRttNs as number
  return Array.from({ length: count }, () => ({
    ...scenario,
    flows: scenario.flows.map(flow => ({
      ...flow,
      startNs: flow.startNs + Math.floor(random.next() * tNs),
    })),
  }))
}
