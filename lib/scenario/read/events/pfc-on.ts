import type { DocumentPath } from '../../model/problems.js'
import type { NetworkEvent, ScenarioSwitch } from '../../model/scenario.js'
import { checkShape } from '../../schema/check-shape.js'
import { pfcOnSchema } from '../../schema/events.js'
import { resolvePorts } from '../ports.js'
import { type EventContext, timesOf } from './event-context.js'

/** An operator restores PFC. */
export function resolvePfcOn(context: EventContext, path: DocumentPath, item: unknown): NetworkEvent | null {
  const { problems, topology, switches } = context
  const shape = checkShape(problems, path, pfcOnSchema, item, 'an event')
  if (shape === null) return null
  const names = switches.map(({ name }) => name)
  const at = [...path, 'pfcOn']
  const hops = resolvePorts(problems, at, shape.pfcOn ?? null, topology, names, 'the port of an event')
  const [first] = hops
  if (first === undefined || shape.at === undefined) return null
  const wrong = whyNot(switches.find(({ name }) => name === first.node)!, shape.priority)
  if (wrong !== null) {
    problems.at(at, wrong)
    return null
  }
  return {
    kind: 'pfcOn',
    ...timesOf(context, path, shape),
    switch: first.node,
    ports: hops.map(({ port }) => port),
    ...(shape.priority !== undefined && { priority: shape.priority }),
  }
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
