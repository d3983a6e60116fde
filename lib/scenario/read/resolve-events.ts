/** `events` of a scenario file: changes that an operator makes to switches while the traffic runs. */

import { show } from '../../options/read-value.js'
import type { Problems } from '../model/problems.js'
import type { NetworkEvent, ScenarioSwitch } from '../model/scenario.js'
import type { Topology } from '../model/topology.js'
import { checkShape } from '../schema/check-shape.js'
import { eventSchema } from '../schema/network.js'
import { resolvePorts } from './ports.js'

const EVENTS_MAX = 1024

/** @param topology null when the network has problems of its own; then ports are not checked */
export function resolveEvents(
  problems: Problems,
  value: unknown,
  topology: Topology | null,
  switches: readonly ScenarioSwitch[],
): NetworkEvent[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    problems.at(['events'], `events is a list ([{at: 2s, pfcOn: s1:s2}]), not ${show(value)}`)
    return []
  }
  if (value.length > EVENTS_MAX) problems.at(['events'], `${value.length} events; ${EVENTS_MAX} at most`)
  const names = switches.map(({ name }) => name)
  const events: NetworkEvent[] = []
  for (const [i, item] of value.slice(0, EVENTS_MAX).entries()) {
    const path = ['events', i]
    const shape = checkShape(problems, path, eventSchema, item, 'an event')
    if (shape === null || topology === null) continue
    const at = [...path, 'pfcOn']
    const hops = resolvePorts(problems, at, shape.pfcOn ?? null, topology, names, 'the port of an event')
    const [first] = hops
    if (first === undefined || shape.at === undefined) continue
    const wrong = whyNot(switches.find(({ name }) => name === first.node)!, shape.priority)
    if (wrong !== null) {
      problems.at(at, wrong)
      continue
    }
    events.push({
      atNs: shape.at,
      switch: first.node,
      ports: hops.map(({ port }) => port),
      ...(shape.priority !== undefined && { priority: shape.priority }),
    })
  }
  return events
}

/**
 * Returns why the watchdog never turns PFC of a switch off, so that nothing can turn it on again; null if it
 * may.
 */
function whyNot({ name, pfc }: ScenarioSwitch, priority: number | undefined): string | null {
  if (pfc?.watchdog?.limit === undefined) {
    return `${name} has no watchdog with a limit, which alone turns PFC off (pfc: {watchdog: {limit: …}})`
  }
  if (priority === undefined || pfc.priorities.includes(priority)) return null
  return `priority ${priority} is lossy at ${name}; lossless are ${pfc.priorities.join(', ')}`
}
