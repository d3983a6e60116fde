/**
 * Places in scenario files for problems that are found after the file was read, for example when a run in
 * real time begins.
 */
import { WeirError } from '../../errors.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { Scenario } from '../model/scenario.js'

/** The key is the list of hosts, which copies of a scenario with other settings share. */
const known = new WeakMap<Scenario['hosts'], Problems>()

/** Remembers the places of the scenario that was read with these problems. */
export function rememberPlaces(scenario: Scenario, problems: Problems): void {
  known.set(scenario.hosts, problems)
}

/**
 * Returns WEIR_BAD_SCENARIO with the place of the value at `path`. For a scenario that was not read from a
 * file, it names the file alone.
 */
export function scenarioError(scenario: Scenario, path: DocumentPath, message: string): WeirError {
  const place = known.get(scenario.hosts)?.placeOf(path) ?? scenario.file
  return new WeirError('WEIR_BAD_SCENARIO', `${place}: ${message}`)
}
