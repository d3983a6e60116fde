import { LINK_OPTIONS, type LinkSettings } from '../../../sim/link-options.js'
import { whyNoBursts } from '../../../sim/loss.js'
import type { DocumentPath } from '../../model/problems.js'
import type { NetworkEvent } from '../../model/scenario.js'
import { checkShape } from '../../schema/check-shape.js'
import { linkEventSchema } from '../../schema/events.js'
import { resolveLinkEnds } from '../link-ends.js'
import { resolveOptions } from '../resolve-options.js'
import { type EventContext, type TimeKeys, timesOf } from './event-context.js'

const BESIDE_SETTINGS = ['link', 'at', 'every', 'repeat', 'for', 'reset']

/** A link changes. */
export function resolveLinkEvent(
  context: EventContext,
  path: DocumentPath,
  item: unknown,
): NetworkEvent | null {
  const { problems, topology, hostNames, switches } = context
  const shape = checkShape(problems, path, linkEventSchema, item, 'an event')
  if (shape === null) return null
  const given = shape as TimeKeys & { link?: string; reset?: boolean; down?: boolean }
  const settings = resolveOptions<LinkSettings>(problems, path, LINK_OPTIONS, shape)
  const { link, reset = false } = given
  if (link === undefined) return null
  const names = [...hostNames, ...switches.map(({ name }) => name)]
  const links = resolveLinkEnds(problems, [...path, 'link'], link, topology, names)
  if (links === null) return null
  const wrong = whyNotSet(settings, link, links.bothWays)
  if (wrong !== null) problems.atKey([...path, wrong.key], wrong.message)
  // A setting that is wrong has been reported.
  if (!reset && Object.keys(item as object).every(key => BESIDE_SETTINGS.includes(key))) {
    const keys = LINK_OPTIONS.map(({ name }) => name).join(', ')
    problems.at(path, `the event says nothing about ${link}: name reset, or one or more of ${keys}`)
  }
  if (reset && given.for !== undefined)
    problems.atKey([...path, 'reset'], 'what reset ends does not come back: leave out for')
  return { kind: 'link', ...timesOf(context, path, given), links: link, ends: links.ends, settings, reset }
}

/** Returns which setting cannot be, and why; null if all can. @param link as it was named: `s1:s2` */
export function whyNotSet(
  settings: LinkSettings,
  link: string,
  bothWays: boolean,
): { key: keyof LinkSettings & string; message: string } | null {
  const { down, loss = 0, burst, burstLoss = 1 } = settings
  if (down !== undefined && !bothWays)
    return {
      key: 'down',
      message: `a link goes down both ways: write ${link.replace(':', '--')} and not ${link}`,
    }
  const wrong = burst === undefined || loss === 0 ? null : whyNoBursts(loss, burst, burstLoss)
  return wrong === null ? null : { key: 'burst', message: wrong }
}
