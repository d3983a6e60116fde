import { WeirError } from '../../lib/errors.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { EgressPort } from '../core/queueing/egress-port.js'
import type { Switch } from '../core/switch.js'

/** Samples of one run. Later ones are not taken. */
const SAMPLES_MAX = 1_000_000

interface Column {
  name: string
  port: EgressPort
  queueBytes: number[]
  txBytes: number[]
  /** What features let see. */
  gauges: { name: string; unit: string; read: () => number; values: number[] }[]
}

/**
 * The series of the watched ports: what each queue holds, and what each port has sent, at fixed intervals.
 * The owner of the network calls `sample` at `nextTimeout`, after the events of that instant. Nothing changes
 * between events, so a sample that is taken late but before the next event is exact.
 */
export class PortSampler {
  readonly #columns: Column[]
  readonly #everyNs: Nanos
  readonly #startNs: Nanos
  readonly #times: number[] = []
  #nextNs: Nanos

  /** @param startNs time of the first sample, and zero of the series' times */
  constructor(scenario: Scenario, switches: readonly Switch[], startNs: Nanos) {
    const topology = new Topology(scenario)
    this.#everyNs = scenario.watch.everyNs
    this.#startNs = startNs
    this.#nextNs = startNs
    this.#columns = scenario.watch.queues.map(watched => {
      const sw = switches.find(({ name }) => name === watched.switch)
      const port = sw?.ports[watched.port]
      if (sw === undefined || port === undefined) {
        throw new WeirError('WEIR_BAD_ARGUMENT', `watch: ${watched.switch} has no port ${watched.port}`)
      }
      const name = portName(topology, watched.switch, watched.port)
      const gauges = sw.gauges(watched.port).map(({ name: kind, of, unit, read }) => ({
        name: seriesName(kind, `${name}.${of}`),
        unit,
        read,
        values: [],
      }))
      return { name, port, queueBytes: [], txBytes: [], gauges }
    })
  }

  nextTimeout(): Nanos {
    return this.#columns.length > 0 && this.#times.length < SAMPLES_MAX ? this.#nextNs : NEVER
  }

  /** Takes the sample of `nextTimeout`. May be called early. */
  sample(now: Nanos): void {
    if (now < this.nextTimeout()) return
    this.#times.push(this.#nextNs - this.#startNs)
    for (const { port, queueBytes, txBytes, gauges } of this.#columns) {
      queueBytes.push(port.queueBytes)
      txBytes.push(port.counters.sentBytes)
      for (const gauge of gauges) gauge.values.push(gauge.read())
    }
    this.#nextNs += this.#everyNs
  }

  series(): Record<string, Series> {
    const series: Record<string, Series> = {}
    for (const { name, queueBytes, txBytes, gauges } of this.#columns) {
      series[seriesName('queue', name)] = {
        unit: 'bytes',
        timesNs: [...this.#times],
        values: [...queueBytes],
      }
      // Sent in this run. The counter itself counts from the start of the switch.
      const before = txBytes[0] ?? 0
      const values = txBytes.map(bytes => bytes - before)
      series[seriesName('tx', name)] = { unit: 'bytes', timesNs: [...this.#times], values }
      for (const gauge of gauges) {
        series[gauge.name] = { unit: gauge.unit, timesNs: [...this.#times], values: [...gauge.values] }
      }
    }
    return series
  }
}
