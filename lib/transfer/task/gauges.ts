/** Goodput of each transfer, lately. */
import type { Nanos } from '../../time/nanos.js'
import { Meter } from './meter.js'
import type { Transfer } from './transfer.js'

interface Gauge {
  readonly meter: Meter
  goodputBps: number
}

export class Gauges {
  readonly #gauges = new WeakMap<Transfer, Gauge>()

  /** Call about once a second for each transfer. */
  tick(now: Nanos, transfer: Transfer): void {
    const gauge = this.#gauges.get(transfer)
    if (gauge) gauge.goodputBps = gauge.meter.sample(now, transfer.movedBytes)
    else this.#gauges.set(transfer, { meter: new Meter(now, transfer.movedBytes), goodputBps: 0 })
  }

  /** Bits per second between the last two ticks; 0 before the second one. */
  goodputBps(transfer: Transfer): number {
    return this.#gauges.get(transfer)?.goodputBps ?? 0
  }
}
