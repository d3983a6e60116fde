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
  /** By sample. */
  readonly #queueBytes: number[] = []
  readonly #sentBytes: number[] = []

  /** @param name of the port */
  constructor(name: string, port: EgressPort, gauges: readonly SampledGauge[]) {
    this.#name = name
    this.#port = port
    this.#gauges = gauges
  }

  sample(): void {
    this.#queueBytes.push(this.#port.queueBytes)
    this.#sentBytes.push(this.#port.counters.sentBytes)
    for (const gauge of this.#gauges) gauge.values.push(gauge.read())
  }

  /** @param everyNs from sample to sample */
  addTo(series: Record<string, Series>, everyNs: Nanos): void {
    const timesNs = this.#queueBytes.map((_, at) => at * everyNs)
    // Sent in this run. The counter itself counts from the start of the switch.
    const [before = 0] = this.#sentBytes
    const txBytes = this.#sentBytes.map(bytes => bytes - before)
    series[seriesName('queue', this.#name)] = { unit: 'bytes', timesNs, values: [...this.#queueBytes] }
    series[seriesName('tx', this.#name)] = { unit: 'bytes', timesNs, values: txBytes }
    for (const gauge of this.#gauges)
      series[gauge.name] = { unit: gauge.unit, timesNs, values: [...gauge.values] }
  }
}
