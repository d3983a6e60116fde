import type { EventKind } from './event-kind.js'

/** An operator restores PFC of ports where the limit of a watchdog has turned it off. */
export const PFC_ON: EventKind<'pfcOn'> = {
  kind: 'pfcOn',
  begin(now, network, event) {
    network.turnPfcOn(now, event.switch, event.ports, event.priority)
  },
  text: event => `PFC of ${event.switch} on, ports ${event.ports.join(', ')}`,
}
