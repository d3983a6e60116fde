import { MICROSECOND, type Nanos, NEVER, SECOND } from '../../../lib/time/nanos.js'
import type { FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import { PortLoad } from './port-load.js'

/** How often the table is updated. */
export interface IntTableOptions {
  intervalNs: Nanos
}

/** After so many updates that nobody has read, the table rests until the next acknowledgement. */
const UNREAD_MAX = 64

/**
 * All_INT_Table of FNCC (section 4.1): the load of every egress port, updated periodically. An acknowledgement that collects for the data
 * gets the row of the port that it came in by. Without this feature it gets the load of the moment at which it leaves.
 */
export class IntTable implements SwitchFeature {
  readonly #switch: FeatureSwitch
  readonly #timers: QueueTimers
  readonly #intervalNs: Nanos
  readonly #rows: PortLoad[]
  #unread = UNREAD_MAX

  constructor({ intervalNs }: IntTableOptions, sw: FeatureSwitch, timers: QueueTimers) {
    this.#switch = sw
    this.#timers = timers
    this.#intervalNs = intervalNs
    this.#rows = sw.ports.map(() => new PortLoad())
  }

  /** The row of a port. */
  row(now: Nanos, port: number): PortLoad {
    const rested = this.#unread >= UNREAD_MAX
    this.#unread = 0
    if (rested) this.timeout(now)
    return this.#rows[port]!
  }

  /** The table rests until it is read. */
  restart(): void {
    this.#unread = UNREAD_MAX
    this.#timers.set(0, 0, NEVER)
  }

  timeout(at: Nanos): void {
    for (const [port, row] of this.#rows.entries()) row.take(this.#switch.ports[port]!, at)
    if (++this.#unread < UNREAD_MAX) this.#timers.set(0, 0, at + this.#intervalNs)
  }
}

export const INT_TABLE: FeatureEntry = {
  name: 'intTable',
  within: 'telemetry',
  doc: "The switch keeps the load of its ports in a table, for acknowledgements that collect telemetry of the data's way (FNCC, section 4.1).",
  usual: 'they get the load of the moment at which they leave',
  example: { interval: '1us' },
  title: 'intTable',
  about:
    'The table of the loads of all ports from which a switch writes telemetry into acknowledgements (FNCC).',
  options: [
    {
      name: 'interval',
      kind: 'time',
      min: 100,
      max: SECOND,
      doc: 'The table is updated once in this time.',
      default: MICROSECOND,
      example: '2us',
    },
  ],
  create: (options: IntTableOptions, sw, timers) => new IntTable(options, sw, timers),
}
