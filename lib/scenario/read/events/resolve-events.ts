/** `events` of a scenario file: what happens to the network while the traffic runs. */
import { show } from '../../../options/read-value.js'
import type { DocumentPath, Problems } from '../../model/problems.js'
import type { NetworkEvent } from '../../model/scenario.js'
import type { Topology } from '../../model/topology.js'
import type { EventContext } from './event-context.js'
import { resolveLinkEvent } from './link.js'
import { resolvePfcOn } from './pfc-on.js'
import { resolveRestart } from './restart.js'

const EVENTS_MAX = 1024

/** The kinds of events, by the key that makes one of that kind. */
const KINDS: Readonly<
  Record<string, (context: EventContext, path: DocumentPath, item: unknown) => NetworkEvent | null>
> = {
  pfcOn: resolvePfcOn,
  link: resolveLinkEvent,
  restart: resolveRestart,
}

/** @param topology null when the network has problems of its own; then events are not checked */
export function resolveEvents(
  problems: Problems,
  value: unknown,
  topology: Topology | null,
  network: Omit<EventContext, 'problems' | 'topology'>,
): NetworkEvent[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    const text = `events is a list ([{at: 2ms, link: s1--s2, down: true}]), not ${show(value)}`
    problems.at(['events'], text)
    return []
  }
  if (value.length > EVENTS_MAX) problems.at(['events'], `${value.length} events; ${EVENTS_MAX} at most`)
  if (topology === null) return []
  const context = { problems, topology, ...network }
  return value.slice(0, EVENTS_MAX).flatMap((item, i) => {
    const event = resolveEvent(context, ['events', i], item)
    return event === null ? [] : [event]
  })
}

function resolveEvent(context: EventContext, path: DocumentPath, item: unknown): NetworkEvent | null {
  const isMapping = typeof item === 'object' && item !== null && !Array.isArray(item)
  const kinds = isMapping ? Object.keys(KINDS).filter(key => Object.hasOwn(item, key)) : []
  const [kind, ...others] = kinds
  if (kind !== undefined && others.length === 0) return KINDS[kind]!(context, path, item)
  const names = Object.keys(KINDS).join(', ')
  const found = others.length > 0 ? `${kinds.join(' and ')}` : show(item)
  context.problems.at(path, `an event is a mapping with one of the keys ${names}, not ${found}`)
  return null
}
