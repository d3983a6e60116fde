import type { ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { TrafficFlow } from '../../lib/traffic/traffic-flow.js'

/** Samples of one flow at most: later ones are not taken. */
const SAMPLES_MAX = 1_000_000

/** The series of flows: rate, window, bytes in flight, bytes acknowledged; a flow is sampled from its start on. */
export class FlowSampler {
  readonly #series: Record<string, Series> = {}
  readonly #flowAt: (i: number) => TrafficFlow | null
  readonly #plan: readonly ScenarioFlow[]
  readonly #startNs: Nanos
  #count = 0

  /** @param flowAt the flow of a place in the plan, null before it is made; @param startNs zero of the series' times */
  constructor(flowAt: (i: number) => TrafficFlow | null, plan: readonly ScenarioFlow[], startNs: Nanos) {
    this.#flowAt = flowAt
    this.#plan = plan
    this.#startNs = startNs
  }

  sample(now: Nanos): void {
    if (this.#count++ >= SAMPLES_MAX) return
    const time = now - this.#startNs
    for (const [i, { startNs }] of this.#plan.entries()) {
      const flow = time < startNs ? null : this.#flowAt(i)
      if (flow === null) continue
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
