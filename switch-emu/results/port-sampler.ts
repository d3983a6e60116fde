import { WeirError } from '../../lib/errors.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import type { Series } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { Switch } from '../core/switch.js'
import { NodeWatch } from './node-watch.js'
import { PortColumn } from './port-column.js'

type Watched = Scenario['watch']['queues'][number]

/**
 * The series of the watched ports: what each queue holds, and what each port has sent, at fixed intervals. Nothing changes between
 * events, so a sample that is taken late but before the next event of its switch is exact. A network may take those of each switch by
 * itself (`watches`); otherwise its owner calls `sample` at `nextTimeout`, after the events of that instant.
 */
export class PortSampler {
  /** One for each switch with watched ports. */
  readonly watches: readonly NodeWatch[]
  /** In the scenario's order. */
  readonly #columns: readonly PortColumn[]
  readonly #everyNs: Nanos

  /** @param startNs time of the first sample, and zero of the series' times */
  constructor(scenario: Scenario, switches: readonly Switch[], startNs: Nanos) {
    const topology = new Topology(scenario)
    const { queues, everyNs } = scenario.watch
    this.#everyNs = everyNs
    this.#columns = queues.map(watched => columnOf(topology, switches, watched))
    const names = [...new Set(queues.map(watched => watched.switch))]
    this.watches = names.map(name => {
      const own = this.#columns.filter((_, i) => queues[i]!.switch === name)
      return new NodeWatch(name, own, startNs, everyNs)
    })
  }

  nextTimeout(): Nanos {
    return this.watches.reduce((first, { dueNs }) => Math.min(first, dueNs), NEVER)
  }

  /** Takes the samples that are due by `now`. May be called early. */
  sample(now: Nanos): void {
    this.sampleBefore(now + 1)
  }

  /** Takes those that are due before `endNs`. */
  sampleBefore(endNs: Nanos): void {
    for (const watch of this.watches) watch.lookBefore(endNs)
  }

  series(): Record<string, Series> {
    const series: Record<string, Series> = {}
    for (const column of this.#columns) column.addTo(series, this.#everyNs)
    return series
  }
}

function columnOf(topology: Topology, switches: readonly Switch[], watched: Watched): PortColumn {
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
  return new PortColumn(name, port, gauges)
}
