import type { Scenario } from '../lib/scenario/model/scenario.js'
import { scenarioError } from '../lib/scenario/read/places.js'

/**
 * Throws WEIR_BAD_SCENARIO where hosts should report themselves as hops but cannot, because no kernel reports
 * what waits for them.
 *
 * @param where as in a sentence: `in virtual time`
 * @param why as in a sentence
 */
export function refuseHostHop(
  scenario: Scenario,
  where: string,
  why = 'nothing waits for a host there',
): void {
  if (!scenario.telemetry.hostHop) return
  const text = `hostHop has no effect ${where}, as ${why}: leave it out, or use a lab with --io batch`
  throw scenarioError(scenario, ['telemetry', 'hostHop'], text)
}
