import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { scenarioError } from '../../lib/scenario/read/places.js'

/**
 * Throws WEIR_BAD_SCENARIO for a network that cannot run in real time: with hosts whose link does not lead to
 * a switch.
 */
export function checkRealTime(scenario: Scenario): void {
  const switches = new Set(scenario.switches.map(({ name }) => name))
  for (const { a, b } of scenario.links) {
    if (switches.has(a.node) || switches.has(b.node)) continue
    const what = `the link ${a.node}--${b.node} joins two hosts, which only virtual time can do`
    throw scenarioError(scenario, ['links'], `${what}: put a switch between them, or use --on virtual`)
  }
}
