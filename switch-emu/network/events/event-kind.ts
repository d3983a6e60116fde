import type { NetworkEvent } from '../../../lib/scenario/model/scenario.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { Links } from '../links.js'

type EventOf<K extends NetworkEvent['kind']> = Extract<NetworkEvent, { kind: K }>

/** What events act on: a `Fabric`. */
export interface EventTarget {
  readonly links: Links
  turnPfcOn(now: Nanos, name: string, ports: readonly number[], priority?: number): number[][]
  restart(now: Nanos, name: string, owner: number): void
  /** For people: `s1:s2`. */
  portName(name: string, port: number): string
}

/** What one kind of events does. */
export interface EventKind<K extends NetworkEvent['kind']> {
  kind: K
  /** @param owner number of the event in the scenario */
  begin(now: Nanos, network: EventTarget, event: EventOf<K>, owner: number): void
  /** The time for which it lasts is over. Absent: it has no such time. */
  end?(now: Nanos, network: EventTarget, event: EventOf<K>, owner: number): void
  /** For people: what begins. */
  text(event: EventOf<K>, network: EventTarget): string
}
