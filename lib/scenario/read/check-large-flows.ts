/** Rules of separate scheduling that involve other settings of the switch. */
import { type LargeFlowsOptions, losslessConflict } from '../../../switch-emu/core/scheduling/large-flows.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { ScenarioSwitch } from '../model/scenario.js'

/** Reports a move between a lossless and a lossy class, and thresholds for large flows where none are recognised. */
export function checkLargeFlows(
  problems: Problems,
  path: DocumentPath,
  { ecn = [], pfc, features }: Pick<ScenarioSwitch, 'ecn' | 'pfc' | 'features'>,
): void {
  const large = features?.largeFlows as LargeFlowsOptions | undefined
  if (large === undefined) {
    if (ecn.some(marking => marking.large !== undefined)) {
      problems.at(
        [...path, 'ecn'],
        'large has no effect without largeFlows, which says what a large flow is: leave it out, or set largeFlows',
      )
    }
    return
  }
  const losslessMask = (pfc?.priorities ?? []).reduce((mask, p) => mask | (1 << p), 0)
  const wrong = losslessConflict(large, losslessMask)
  if (wrong !== null) problems.at([...path, 'largeFlows', wrong.option], wrong.wrong)
}
