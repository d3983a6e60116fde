import { settingsText } from '../links.js'
import type { EventKind } from './event-kind.js'

/** Links go down, lose or damage frames, or change their delay or rate: for good, or for a time. */
export const LINK: EventKind<'link'> = {
  kind: 'link',
  begin(now, network, { ends, settings, reset, for: lasts }, owner) {
    if (reset) network.links.reset(now, ends)
    if (lasts === undefined) network.links.set(now, ends, settings)
    else network.links.begin(now, ends, settings, owner)
  },
  end(now, network, { ends }, owner) {
    network.links.end(now, ends, owner)
  },
  text: ({ links, settings, reset }) =>
    `${links} ${[...(reset ? ['reset'] : []), settingsText(settings) || (settings.down === false ? 'up' : '')].join(' ').trim()}`,
}
