import type { Progress } from '../../lib/client/daemon-client.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import type { Nanos } from '../../lib/time/nanos.js'

/** Samples of one flow. Later ones are not taken. */
const SAMPLES_MAX = 100_000

interface FlowColumns {
  name: string
  timesNs: number[]
  acked: number[]
  rate: number[]
  window: number[]
}

/** The series of flows as their daemons report them, a few times a second. */
export class FlowSeries {
  readonly #flows: FlowColumns[]

  /** @param names of the flows, in the order of their indices; empty: nothing is kept */
  constructor(names: readonly string[]) {
    this.#flows = names.map(name => ({ name, timesNs: [], acked: [], rate: [], window: [] }))
  }

  /** @param timeNs since the traffic's start. Earlier samples are ignored */
  sample(index: number, timeNs: Nanos, progress: Progress): void {
    const flow = this.#flows[index]
    if (flow === undefined || timeNs < 0 || flow.timesNs.length >= SAMPLES_MAX) return
    flow.timesNs.push(timeNs)
    flow.acked.push(progress.bytes)
    flow.rate.push(progress.rateBps)
    flow.window.push(progress.windowBytes)
  }

  all(): Record<string, Series> {
    const series: Record<string, Series> = {}
    for (const { name, timesNs, acked, rate, window } of this.#flows) {
      series[seriesName('acked', name)] = { unit: 'bytes', timesNs, values: acked }
      series[seriesName('rate', name)] = { unit: 'bps', timesNs, values: rate }
      series[seriesName('window', name)] = { unit: 'bytes', timesNs, values: window }
    }
    return series
  }
}
