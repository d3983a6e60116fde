import type { ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { TrafficFlow } from '../../lib/traffic/traffic-flow.js'

/** Samples of one flow. Later ones are not taken. */
const SAMPLES_MAX = 1_000_000

/**
 * The series of flows: rate, window, bytes in flight, bytes acknowledged. A flow is sampled from its start
 * on.
 */
export class FlowSampler {
  readonly #series: Record<string, Series> = {}
  readonly #flows: readonly TrafficFlow[]
  readonly #plan: readonly ScenarioFlow[]
  readonly #startNs: Nanos
  #count = 0

  /** @param startNs zero of the series' times */
  constructor(flows: readonly TrafficFlow[], plan: readonly ScenarioFlow[], startNs: Nanos) {
    this.#flows = flows
    this.#plan = plan
    this.#startNs = startNs
  }

  sample(now: Nanos): void {
    if (this.#count++ >= SAMPLES_MAX) return
    const time = now - this.#startNs
    for (const [i, flow] of this.#flows.entries()) {
      if (time < this.#plan[i]!.startNs) continue
      const { rateBps, windowBytes, inFlightBytes } = flow.connection.stats
      this.#add(seriesName('rate', flow.name), 'bps', time, rateBps)
      this.#add(seriesName('window', flow.name), 'bytes', time, windowBytes)
      this.#add(seriesName('inflight', flow.name), 'bytes', time, inFlightBytes)
      this.#add(seriesName('acked', flow.name), 'bytes', time, flow.ackedBytes)
    }
  }

  series(): Record<string, Series> {
    return this.#series
  }

  #add(name: string, unit: Series['unit'], timeNs: Nanos, value: number): void {
    this.#series[name] ??= { unit, timesNs: [], values: [] }
    this.#series[name].timesNs.push(timeNs)
    this.#series[name].values.push(value)
  }
}
