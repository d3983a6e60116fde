import { offer } from '../../../offer.js'
import { expandNames } from '../../model/names.js'
import type { DocumentPath } from '../../model/problems.js'
import type { NetworkEvent } from '../../model/scenario.js'
import { checkShape } from '../../schema/check-shape.js'
import { restartSchema } from '../../schema/events.js'
import { type EventContext, timesOf } from './event-context.js'

/** Switches restart. */
export function resolveRestart(
  context: EventContext,
  path: DocumentPath,
  item: unknown,
): NetworkEvent | null {
  const { problems, switches } = context
  const shape = checkShape(problems, path, restartSchema, item, 'an event')
  if (shape?.restart === undefined || shape.for === undefined) return null
  const names = expandNames(shape.restart)
  if ('wrong' in names) {
    problems.at([...path, 'restart'], names.wrong)
    return null
  }
  const known = switches.map(({ name }) => name)
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) {
    problems.at([...path, 'restart'], `no switch is called '${unknown}'; there are ${offer(unknown, known)}`)
    return null
  }
  return { kind: 'restart', ...timesOf(context, path, shape), switches: names }
}
