import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { EgressPort } from '../core/queueing/egress-port.js'
import type { SampledColumn } from './node-watch.js'

/** What a feature lets see of the port. */
interface SampledGauge {
  name: string
  unit: string
  read: () => number
  values: number[]
}

/** The samples of one port: what its queue holds, and what it has sent. */
export class PortColumn implements SampledColumn {
  readonly #name: string
  readonly #port: EgressPort
  readonly #gauges: readonly SampledGauge[]
  /** Bytes in the queue, and bytes sent, of each sample. */
  readonly #values: number[] = []

  /** @param name of the port */
  constructor(name: string, port: EgressPort, gauges: readonly SampledGauge[]) {
    this.#name = name
    this.#port = port
    this.#gauges = gauges
  }

  sample(): void {
    this.#values.push(this.#port.queueBytes, this.#port.counters.sentBytes)
    for (const gauge of this.#gauges) gauge.values.push(gauge.read())
  }

  /** @param everyNs from sample to sample */
  addTo(series: Record<string, Series>, everyNs: Nanos): void {
    const values = this.#values
    const timesNs: Nanos[] = []
    const queueBytes: number[] = []
    const txBytes: number[] = []
    // Sent in this run. The counter itself counts from the start of the switch.
    const before = values[1] ?? 0
    for (let at = 0; at < values.length; at += 2) {
      timesNs.push((at / 2) * everyNs)
      queueBytes.push(values[at]!)
      txBytes.push(values[at + 1]! - before)
    }
    series[seriesName('queue', this.#name)] = { unit: 'bytes', timesNs, values: queueBytes }
    series[seriesName('tx', this.#name)] = { unit: 'bytes', timesNs, values: txBytes }
    for (const gauge of this.#gauges)
      series[gauge.name] = { unit: gauge.unit, timesNs, values: [...gauge.values] }
  }
}
