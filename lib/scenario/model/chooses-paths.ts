import { probesPaths } from '../../cc/path-settings.js'
import type { Scenario } from './scenario.js'

/** True if flows of the scenario may take other paths than their first: by path selection, or because links fail. */
export function choosesPaths({ paths, inof }: Scenario): boolean {
  return probesPaths(paths) || inof?.failover === true
}
