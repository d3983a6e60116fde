/** Places in scenario files for problems that are found after the file was read, as when it is to run in real time. */
import { WeirError } from '../../errors.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { Scenario } from '../model/scenario.js'

/** By the list of hosts, which copies of a scenario with other settings share. */
const known = new WeakMap<Scenario['hosts'], Problems>()

/** Keeps the places of a scenario that was read with these problems. */
export function rememberPlaces(scenario: Scenario, problems: Problems): void {
  known.set(scenario.hosts, problems)
}

/** WEIR_BAD_SCENARIO with the place of that path, or with the file alone for a scenario that comes from elsewhere. */
export function scenarioError(scenario: Scenario, path: DocumentPath, message: string): WeirError {
  const place = known.get(scenario.hosts)?.placeOf(path) ?? scenario.file
  return new WeirError('WEIR_BAD_SCENARIO', `${place}: ${message}`)
}
