/** One scenario with several starts: how fair a controller is depends on who begins a moment earlier. */
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { Random } from '../../lib/sim/random.js'

/** `count` copies of the scenario; in each every flow starts up to T later than it says, by the seed. */
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
