import type { EventKind } from './event-kind.js'

/** An operator restores PFC of ports where the limit of a watchdog has turned it off. */
export const PFC_ON: EventKind<'pfcOn'> = {
  kind: 'pfcOn',
  begin(now, network, event) {
    network.turnPfcOn(now, event.switch, event.ports, event.priority)
  },
  text: ({ switch: name, ports, priority }, network) => {
    const names = ports.map(port => network.portName(name, port))
    return `PFC of ${names.join(', ')} on${priority === undefined ? '' : `, priority ${priority}`}`
  },
}
