import type { DocumentPath, Problems } from '../../model/problems.js'
import type { EventTimes, ScenarioSwitch, Spacing } from '../../model/scenario.js'
import type { Topology } from '../../model/topology.js'

/** What events are checked against. */
export interface EventContext {
  problems: Problems
  topology: Topology
  hostNames: readonly string[]
  switches: readonly ScenarioSwitch[]
}

/** The keys of an event that say when. */
export interface TimeKeys {
  at?: number
  every?: Spacing
  repeat?: number
  for?: Spacing
}

/** Returns when an event happens. Reports keys that do not go together. */
export function timesOf({ problems }: EventContext, path: DocumentPath, keys: TimeKeys): EventTimes {
  const { at = 0, every, repeat, for: lasts } = keys
  if (repeat !== undefined && every === undefined) {
    problems.atKey([...path, 'repeat'], 'repeat needs every, the time between two times')
  }
  if (every !== undefined && lasts !== undefined && !every.random && !lasts.random && lasts.ns >= every.ns) {
    problems.at([...path, 'for'], 'for is shorter than every: the event ends before it begins again')
  }
  return {
    atNs: at,
    ...(every !== undefined && { every }),
    ...(repeat !== undefined && { repeat }),
    ...(lasts !== undefined && { for: lasts }),
  }
}
