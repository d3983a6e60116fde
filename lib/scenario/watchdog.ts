/** `pfc.watchdog` of a switch: detection and clearance of PFC deadlocks. Names are those of SONiC's `pfcwd`. */
import type { Path, Problems } from './problems.js'
import type { WatchdogSettings } from './scenario.js'
import { checkShape } from './schema/check-shape.js'
import { limitSchema, watchdogSchema } from './schema/switch.js'

/** As `pfcwd start_default` sets them. */
const DEFAULT_DETECTION_NS = 200_000_000
const DEFAULT_RESTORATION_NS = 200_000_000

/** @param path of the mapping */
export function resolveWatchdog(
  problems: Problems,
  path: Path,
  value: unknown,
): WatchdogSettings | undefined {
  if (value === undefined) return undefined
  const shape = checkShape(problems, path, watchdogSchema, value, 'a watchdog')
  if (shape === null) return undefined
  const action = shape.action ?? 'drop'
  const at = [...path, 'limit']
  const limit =
    shape.limit === undefined ? undefined : checkShape(problems, at, limitSchema, shape.limit, 'a limit')
  if (limit && action === 'alert')
    problems.at(at, 'action alert changes nothing: it has no limit at which to turn PFC off')
  return {
    detectionTimeNs: shape.detectionTime ?? DEFAULT_DETECTION_NS,
    restorationTimeNs: shape.restorationTime ?? DEFAULT_RESTORATION_NS,
    action,
    ...(limit && { limit: { deadlocks: limit.deadlocks ?? 1, windowNs: limit.window ?? 1 } }),
  }
}
