import type { ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { TrafficFlow } from '../../lib/traffic/traffic-flow.js'

/** Samples of one flow. Later ones are not taken. */
const SAMPLES_MAX = 1_000_000

/** The series of one flow. */
interface FlowSeries {
  rate: Series
  window: Series
  inFlight: Series
  acked: Series
}

/**
 * The series of flows: rate, window, bytes in flight, bytes acknowledged. A flow is sampled from its start
 * on.
 */
export class FlowSampler {
  readonly #series: Record<string, Series> = {}
  /** By a flow's place in the plan: its series, once it has been sampled. */
  readonly #ofFlow: FlowSeries[] = []
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
    for (let i = 0; i < this.#plan.length; i++) {
      const flow = time < this.#plan[i]!.startNs ? null : this.#flowAt(i)
      if (flow === null) continue
      const { rateBps, windowBytes, inFlightBytes } = flow.connection.stats
      this.#ofFlow[i] ??= this.#seriesOf(flow.name)
      const series = this.#ofFlow[i]
      add(series.rate, time, rateBps)
      add(series.window, time, windowBytes)
      add(series.inFlight, time, inFlightBytes)
      add(series.acked, time, flow.ackedBytes)
    }
  }

  series(): Record<string, Series> {
    return this.#series
  }

  #seriesOf(flow: string): FlowSeries {
    return {
      rate: this.#named(seriesName('rate', flow), 'bps'),
      window: this.#named(seriesName('window', flow), 'bytes'),
      inFlight: this.#named(seriesName('inflight', flow), 'bytes'),
      acked: this.#named(seriesName('acked', flow), 'bytes'),
    }
  }

  #named(name: string, unit: Series['unit']): Series {
    const series: Series = { unit, timesNs: [], values: [] }
    this.#series[name] = series
    return series
  }
}

function add({ timesNs, values }: Series, timeNs: Nanos, value: number): void {
  timesNs.push(timeNs)
  values.push(value)
}
