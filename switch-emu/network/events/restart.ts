import type { EventKind } from './event-kind.js'

/** Switches restart: their links are down for the time that it lasts, and they come up with nothing but their configuration. */
export const RESTART: EventKind<'restart'> = {
  kind: 'restart',
  begin(now, network, { switches }, owner) {
    for (const name of switches) network.restart(now, name, owner)
  },
  end(now, network, { switches }, owner) {
    for (const name of switches) network.links.end(now, network.links.endsOf(name), owner)
  },
  text: ({ switches }) => `restart of ${switches.join(', ')}`,
}
