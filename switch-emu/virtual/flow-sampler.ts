import type { ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { TrafficFlow } from '../../lib/traffic/traffic-flow.js'
import { NodeWatch, type SampledColumn } from '../results/node-watch.js'

const KINDS = [
  { kind: 'rate', unit: 'bps' },
  { kind: 'window', unit: 'bytes' },
  { kind: 'inflight', unit: 'bytes' },
  { kind: 'acked', unit: 'bytes' },
] as const

/** The flow of a place in the plan, null before it is made. */
type FlowAt = (i: number) => TrafficFlow | null

/** What is sampled of one flow. */
class FlowColumn implements SampledColumn {
  readonly #flowAt: FlowAt
  readonly #i: number
  /** When it starts, on the clock of the series. */
  readonly #startNs: Nanos
  readonly #everyNs: Nanos
  /** What each sample finds, a list for each of KINDS. */
  readonly #rates: number[] = []
  readonly #windows: number[] = []
  readonly #inFlight: number[] = []
  readonly #acked: number[] = []

  /** Time of the first sample, or NEVER. A flow that has been sampled once is sampled each time. */
  firstNs: Nanos = NEVER

  constructor(flowAt: FlowAt, i: number, startNs: Nanos, everyNs: Nanos) {
    this.#flowAt = flowAt
    this.#i = i
    this.#startNs = startNs
    this.#everyNs = everyNs
  }

  sample(timeNs: Nanos): void {
    const flow = timeNs < this.#startNs ? null : this.#flowAt(this.#i)
    if (flow === null) return
    if (this.firstNs === NEVER) this.firstNs = timeNs
    const { rateBps, windowBytes, inFlightBytes } = flow.connection.stats
    this.#rates.push(rateBps)
    this.#windows.push(windowBytes)
    this.#inFlight.push(inFlightBytes)
    this.#acked.push(flow.ackedBytes)
  }

  /** @param flow its name */
  addTo(series: Record<string, Series>, flow: string): void {
    const columns = [this.#rates, this.#windows, this.#inFlight, this.#acked]
    const timesNs = this.#rates.map((_, at) => this.firstNs + at * this.#everyNs)
    for (const [k, { kind, unit }] of KINDS.entries())
      series[seriesName(kind, flow)] = { unit, timesNs, values: columns[k]! }
  }
}

/**
 * The series of flows: rate, window, bytes in flight, bytes acknowledged, as their senders know them. A flow is sampled from its start
 * on.
 */
export class FlowSampler {
  /** One for each host that sends. */
  readonly watches: readonly NodeWatch[]
  /** By a flow's place in the plan. */
  readonly #columns: readonly FlowColumn[]
  readonly #plan: readonly ScenarioFlow[]

  /** @param startNs time of the first sample, and zero of the series' times */
  constructor(flowAt: FlowAt, plan: readonly ScenarioFlow[], startNs: Nanos, everyNs: Nanos) {
    this.#plan = plan
    this.#columns = plan.map(({ startNs: at }, i) => new FlowColumn(flowAt, i, at, everyNs))
    const hosts = [...new Set(plan.map(({ from }) => from))]
    this.watches = hosts.map(host => {
      const own = this.#columns.filter((_, i) => plan[i]!.from === host)
      return new NodeWatch(host, own, startNs, everyNs)
    })
  }

  /** Takes the samples that are due before `endNs`. */
  sampleBefore(endNs: Nanos): void {
    for (const watch of this.watches) watch.lookBefore(endNs)
  }

  /** In the order of their first samples. */
  series(): Record<string, Series> {
    const series: Record<string, Series> = {}
    const sampled = [...this.#columns.entries()].filter(([, { firstNs }]) => firstNs !== NEVER)
    for (const [i, column] of sampled.sort(([, a], [, b]) => a.firstNs - b.firstNs))
      column.addTo(series, this.#plan[i]!.name)
    return series
  }
}
