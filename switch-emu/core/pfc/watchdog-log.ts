import type { Nanos } from '../../../lib/time/nanos.js'

/** What a watchdog did to one queue. `restored` ends a `detected`, and `turnedOn` ends a `turnedOff`. */
export type WatchdogEventKind = 'detected' | 'restored' | 'turnedOff' | 'turnedOn'

interface WatchdogEvent {
  atNs: Nanos
  port: number
  priority: number
  event: WatchdogEventKind
}

/** Events that are kept. Later ones are only counted. */
const WATCHDOG_EVENTS_MAX = 1_000

/**
 * The first events of a watchdog, in the order of their times, and the number of events of each kind and
 * port.
 */
export class WatchdogLog {
  readonly #events: WatchdogEvent[] = []
  readonly #counts: Record<WatchdogEventKind, Float64Array>

  constructor(ports: number) {
    this.#counts = {
      detected: new Float64Array(ports),
      restored: new Float64Array(ports),
      turnedOff: new Float64Array(ports),
      turnedOn: new Float64Array(ports),
    }
  }

  get events(): readonly WatchdogEvent[] {
    return this.#events
  }

  /** Events of one kind at a port, all priorities together. */
  count(event: WatchdogEventKind, port: number): number {
    return this.#counts[event][port]!
  }

  add(atNs: Nanos, port: number, priority: number, event: WatchdogEventKind): void {
    this.#counts[event][port]! += 1
    if (this.#events.length < WATCHDOG_EVENTS_MAX) this.#events.push({ atNs, port, priority, event })
  }

  /** Removes everything, for a new window of reports. */
  reset(): void {
    this.#events.length = 0
    for (const counts of Object.values(this.#counts)) counts.fill(0)
  }
}
