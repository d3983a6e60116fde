import type { Observer } from '../../lib/sim/station.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { EgressPort } from '../core/queueing/egress-port.js'

/** Samples of one run. Later ones are not taken. */
export const SAMPLES_MAX = 1_000_000

/** The samples of one port. */
export interface PortColumn {
  /** The port's name. */
  name: string
  port: EgressPort
  /** Bytes in its queue, and bytes that it has sent, of each sample. */
  values: number[]
  /** What features let see. */
  gauges: { name: string; unit: string; read: () => number; values: number[] }[]
}

/** Samples the watched ports of one switch at fixed intervals. */
export class PortWatch implements Observer {
  /** The switch. */
  readonly switchName: string
  /** When the next sample is due, or NEVER. */
  dueNs: Nanos
  readonly #columns: readonly PortColumn[]
  readonly #everyNs: Nanos
  #count = 0

  /** @param startNs time of the first sample */
  constructor(switchName: string, columns: readonly PortColumn[], startNs: Nanos, everyNs: Nanos) {
    this.switchName = switchName
    this.#columns = columns
    this.dueNs = startNs
    this.#everyNs = everyNs
  }

  /** Takes the samples that are due before `endNs`, from the switch as it is now. */
  lookBefore(endNs: Nanos): void {
    while (this.dueNs < endNs) {
      for (const { port, values, gauges } of this.#columns) {
        values.push(port.queueBytes, port.counters.sentBytes)
        for (const gauge of gauges) gauge.values.push(gauge.read())
      }
      this.dueNs = ++this.#count < SAMPLES_MAX ? this.dueNs + this.#everyNs : NEVER
    }
  }
}
