/** `events` of a scenario file: what happens to the network while the traffic runs. */
import { show } from '../../../options/read-value.js'
import { type Nanos, NEVER } from '../../../time/nanos.js'
import type { DocumentPath, Problems } from '../../model/problems.js'
import type { LinkEnd, NetworkEvent } from '../../model/scenario.js'
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
  const resolved = value.slice(0, EVENTS_MAX).map((item, i) => resolveEvent(context, ['events', i], item))
  const events = resolved.filter(event => event !== null)
  for (const [i, event] of resolved.entries()) if (event !== null) checkRepeats(problems, i, event, events)
  return events
}

/** Reports an event that happens again and again, and changes nothing after the first time. */
function checkRepeats(
  problems: Problems,
  index: number,
  event: NetworkEvent,
  events: readonly NetworkEvent[],
): void {
  if (event.kind !== 'link' || event.every === undefined || event.for !== undefined) return
  if (events.some(other => other !== event && other.kind === 'link' && changesBack(other, event))) return
  const what = `every without for: the link stays as the first time has left it, and nothing else changes that of ${event.links}`
  problems.atKey(['events', index, 'every'], `${what}; set for, or add an event that changes it back`)
}

type TimedLinkEvent = NetworkEvent & { kind: 'link' }

/** After `event` the other one happens to an end of the same link, and sets what that has set to something else, or ends it. */
function changesBack(other: TimedLinkEvent, event: TimedLinkEvent): boolean {
  if (lastNs(other) <= event.atNs || !other.ends.some(end => event.ends.some(one => isSame(one, end))))
    return false
  const [sets, has] = [other.settings, event.settings].map(settings => settings as Record<string, unknown>)
  if (event.reset) return Object.keys(sets!).length > 0
  // It lies above what the event sets, and leaves that as it was.
  if (other.for !== undefined) return false
  return Object.keys(has!).some(name => (name in sets! ? sets![name] !== has![name] : other.reset))
}

/** When it happens for the last time, as far as that is not drawn. */
function lastNs({ atNs, every, repeat = Number.POSITIVE_INFINITY }: TimedLinkEvent): Nanos {
  if (every === undefined) return atNs
  return every.random ? NEVER : atNs + (repeat - 1) * every.ns
}

function isSame(a: LinkEnd, b: LinkEnd): boolean {
  return a.node === b.node && a.port === b.port
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
