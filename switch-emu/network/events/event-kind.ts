import type { NetworkEvent } from '../../../lib/scenario/model/scenario.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { Fabric } from '../fabric.js'

type EventOf<K extends NetworkEvent['kind']> = Extract<NetworkEvent, { kind: K }>

/** What one kind of events does. */
export interface EventKind<K extends NetworkEvent['kind']> {
  kind: K
  /** @param owner number of the event in the scenario */
  begin(now: Nanos, fabric: Fabric, event: EventOf<K>, owner: number): void
  /** The time for which it lasts is over. Absent: it has no such time. */
  end?(now: Nanos, fabric: Fabric, event: EventOf<K>, owner: number): void
  /** For people: what begins. */
  text(event: EventOf<K>): string
}
