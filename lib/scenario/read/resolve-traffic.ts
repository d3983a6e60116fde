/** The entries of `traffic`: single flows, incasts and workloads. */
import { dirname, isAbsolute, join } from 'node:path'
import { conflicts } from '../../cc/conflicts.js'
import { DEFAULT_TELEMETRY } from '../../cc/telemetry-settings.js'
import { WeirError } from '../../errors.js'
import { offer } from '../../offer.js'
import { idleText } from '../../options/idle.js'
import { show } from '../../options/read-value.js'
import { expandNames } from '../model/names.js'
import { DEFAULT_PRIORITY } from '../model/priorities.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { CcChoice, ScenarioFlow, ScenarioHost, TransportSettings, Workload } from '../model/scenario.js'
import {
  publishedWorkload,
  readDistribution,
  type SizeDistribution,
  WORKLOAD_NAMES,
} from '../model/size-distribution.js'
import type { Topology } from '../model/topology.js'
import { checkShape } from '../schema/check-shape.js'
import { flowSchema, incastSchema, workloadSchema } from '../schema/traffic.js'
import { type CcCatalogue, resolveCc } from './resolve-cc.js'

/** Flows that a file may list, with repetitions. */
const LISTED_FLOWS_MAX = 100_000

export interface ResolvedTraffic {
  /** Where the file has each workload, by name. */
  places: Map<string, DocumentPath>
  flows: ScenarioFlow[]
  workloads: Workload[]
}

/** What traffic is checked against. `topology` is null when the network has problems of its own. */
interface TrafficContext {
  problems: Problems
  file: string
  hosts: readonly ScenarioHost[]
  switchNames: ReadonlySet<string>
  topology: Topology | null
  catalogue: CcCatalogue
  /** How flows begin. */
  start: TransportSettings['start']
  /** Payload of a full packet, bytes. */
  pathMtu: number
  /** Flow sizes of the workloads, in the order of the file. For further workloads their files are read. */
  sizes: readonly SizeDistribution[]
}

export function resolveTraffic(context: TrafficContext, value: unknown): ResolvedTraffic {
  return new TrafficResolver(context).resolve(value)
}

type Common = { name?: string; start?: number; cc?: unknown; priority?: number }
type Repeated = { repeat?: number; every?: number }

class TrafficResolver {
  readonly #context: TrafficContext
  readonly #problems: Problems
  readonly #hostNames: readonly string[]
  readonly #hosts: ReadonlySet<string>
  readonly #flows: ScenarioFlow[] = []
  readonly #workloads: Workload[] = []
  readonly #places = new Map<string, DocumentPath>()
  /** Names of flows and workloads. */
  readonly #taken = new Set<string>()

  constructor(context: TrafficContext) {
    this.#context = context
    this.#problems = context.problems
    this.#hostNames = context.hosts.map(host => host.name)
    this.#hosts = new Set(this.#hostNames)
  }

  resolve(value: unknown): ResolvedTraffic {
    if (value !== undefined && !Array.isArray(value)) {
      this.#problems.at(
        ['traffic'],
        `traffic is a list ([{from: h1, to: h2, size: 10MB}]), not ${show(value)}`,
      )
    }
    const entries: unknown[] = Array.isArray(value) ? value : []
    for (const [i, entry] of entries.entries()) this.#entry(['traffic', i], i, entry)
    return { places: this.#places, flows: this.#flows, workloads: this.#workloads }
  }

  #entry(path: DocumentPath, index: number, entry: unknown): void {
    const has = (key: string) => typeof entry === 'object' && entry !== null && key in entry
    if (has('workload')) this.#workload(path, index, entry)
    else if (has('incast')) this.#incast(path, index, entry)
    else this.#single(path, index, entry)
  }

  #single(path: DocumentPath, index: number, entry: unknown): void {
    const shape = checkShape(this.#problems, path, flowSchema, entry, 'a flow')
    if (shape === null) return
    const from = this.#host([...path, 'from'], shape.from)
    const to = this.#host([...path, 'to'], shape.to)
    const common = this.#common(path, shape)
    if (from === null || to === null || !this.#reachable(path, from, to)) return
    const { size: bytes } = shape
    if (bytes === undefined || common === null) return
    const base = shape.name ?? this.#freeName(`flow${index}`)
    const count = shape.count ?? 1
    const { sourcePort } = shape
    this.#repeat(path, base, shape, (name, startNs) => {
      for (let k = 0; k < count; k++) {
        const own = count === 1 ? name : `${name}.${k}`
        const port =
          sourcePort === undefined ? {} : { sourcePort: 0xc000 + ((sourcePort - 0xc000 + k) & 0x3fff) }
        this.#add(path, { name: own, from, to, bytes, startNs, ...port, ...common })
      }
    })
  }

  #incast(path: DocumentPath, index: number, entry: unknown): void {
    const shape = checkShape(this.#problems, path, incastSchema, entry, 'an incast')
    if (shape === null) return
    const senders = this.#hostList([...path, 'incast'], shape.incast, 'incast')
    const to = this.#host([...path, 'to'], shape.to)
    const common = this.#common(path, shape)
    if (senders === null || to === null) return
    if (!senders.every(from => this.#reachable(path, from, to))) return
    const { size: bytes } = shape
    if (bytes === undefined || common === null) return
    const base = shape.name ?? this.#freeName(`incast${index}`)
    this.#repeat(path, base, shape, (name, startNs) => {
      for (const from of senders) {
        this.#add(path, { name: `${name}.${from}`, from, to, bytes, startNs, ...common })
      }
    })
  }

  #workload(path: DocumentPath, index: number, entry: unknown): void {
    const shape = checkShape(this.#problems, path, workloadSchema, entry, 'a workload')
    if (shape === null) return
    const hosts =
      shape.hosts === undefined ? this.#hostNames : this.#hostList([...path, 'hosts'], shape.hosts, 'hosts')
    const distribution =
      this.#context.sizes[this.#workloads.length] ?? this.#distribution([...path, 'workload'], shape.workload)
    const common = this.#common(path, shape)
    if (hosts === null) return
    if (hosts.length < 2) {
      this.#problems.at([...path, 'hosts'], 'a workload needs two hosts at least')
      return
    }
    // Every pair of a workload's hosts talks. If one host reaches all others through switches, all
    // reach each other.
    if (!hosts.slice(1).every(other => this.#reachable(path, hosts[0]!, other))) return
    const { load, duration: durationNs } = shape
    if (distribution === null || common === null || load === undefined || durationNs === undefined) return
    const name = shape.name ?? this.#freeName(`${distribution.name}${index}`)
    if (!this.#claim(path, name)) return
    this.#places.set(name, path)
    this.#workloads.push({
      name,
      distribution,
      load,
      startNs: shape.start ?? 0,
      durationNs,
      ...(shape.seed !== undefined && { seed: shape.seed }),
      hosts: [...hosts],
      ...common,
    })
  }

  /** Calls `each` for every repetition of an entry, with its name and start. */
  #repeat(
    path: DocumentPath,
    base: string,
    shape: Common & Repeated,
    each: (name: string, startNs: number) => void,
  ) {
    const repeat = shape.repeat ?? 1
    if (repeat > 1 && shape.every === undefined) {
      this.#problems.at([...path, 'repeat'], "repeat needs 'every', the time between repetitions")
      return
    }
    if (shape.every !== undefined && shape.repeat === undefined) {
      this.#problems.atKey([...path, 'every'], "every needs 'repeat', the number of repetitions")
      return
    }
    for (let i = 0; i < repeat; i++) {
      each(repeat === 1 ? base : `${base}#${i}`, (shape.start ?? 0) + i * (shape.every ?? 0))
    }
  }

  #add(path: DocumentPath, flow: ScenarioFlow): void {
    if (this.#flows.length >= LISTED_FLOWS_MAX) {
      this.#problems.at(path, `more than ${LISTED_FLOWS_MAX} flows; lower count or repeat`)
      return
    }
    if (this.#claim(path, flow.name)) this.#flows.push(flow)
  }

  #claim(path: DocumentPath, name: string): boolean {
    if (this.#taken.has(name)) {
      this.#problems.at(
        [...path, 'name'],
        `the name '${name}' is taken by an earlier flow; each needs its own`,
      )
      return false
    }
    this.#taken.add(name)
    return true
  }

  #freeName(wanted: string): string {
    let name = wanted
    for (let i = 2; this.#taken.has(name); i++) name = `${wanted}-${i}`
    return name
  }

  #common(path: DocumentPath, shape: Common): { cc?: CcChoice; priority: number } | null {
    const priority = shape.priority ?? DEFAULT_PRIORITY
    if (shape.cc === undefined) return { priority }
    const { catalogue, start, pathMtu } = this.#context
    const cc = resolveCc(this.#problems, [...path, 'cc'], shape.cc, catalogue, pathMtu)
    if (cc === null) return null
    for (const { name, idle } of conflicts('cc', { telemetry: DEFAULT_TELEMETRY, cc, start })) {
      this.#problems.atKey([...path, 'cc', name], `${cc.name}: ${idleText(name, idle)}`)
    }
    return { cc, priority }
  }

  /**
   * Returns the name if there is such a host. Returns null otherwise; a missing name has been reported
   * already.
   */
  #host(path: DocumentPath, name: string | undefined): string | null {
    if (name === undefined) return null
    if (this.#hosts.has(name)) return name
    const why = this.#context.switchNames.has(name)
      ? `'${name}' is a switch; traffic runs between hosts`
      : `no host is called '${name}'`
    this.#problems.at(path, `${why}; there are ${offer(name, this.#hostNames)}`)
    return null
  }

  /** Takes a list of names and ranges, or a single one. Returns null after it reported a problem. */
  #hostList(path: DocumentPath, value: unknown, what: string): string[] | null {
    const items: unknown[] = Array.isArray(value) ? value : [value]
    const before = this.#problems.count
    const found = new Set<string>()
    for (const [i, item] of items.entries()) {
      const at = Array.isArray(value) ? [...path, i] : path
      const names =
        typeof item === 'string' ? expandNames(item) : { wrong: `${show(item)} is no name of a host` }
      if ('wrong' in names) {
        this.#problems.at(at, `${what}: ${names.wrong}`)
        continue
      }
      for (const name of names) {
        if (this.#host(at, name) === null) continue
        if (found.has(name)) this.#problems.at(at, `${what}: ${name} is named twice`)
        found.add(name)
      }
    }
    if (items.length === 0) this.#problems.at(path, `${what} is empty; it lists hosts ([h0..h15])`)
    return this.#problems.count === before ? [...found] : null
  }

  #reachable(path: DocumentPath, from: string, to: string): boolean {
    if (from === to) {
      this.#problems.at([...path, 'to'], `a flow from ${from} to itself does not cross the network`)
      return false
    }
    const { topology } = this.#context
    if (topology === null || topology.distance(from, to) < Number.POSITIVE_INFINITY) return true
    this.#problems.at(path, `there is no path from ${from} to ${to}; join their switches in links`)
    return false
  }

  #distribution(path: DocumentPath, wanted: string | undefined): SizeDistribution | null {
    if (wanted === undefined) return null
    const published = WORKLOAD_NAMES.find(name => name === wanted)
    if (published === undefined && !/[/.]/.test(wanted)) {
      const choices = offer(wanted, WORKLOAD_NAMES)
      this.#problems.at(
        path,
        `no workload is called '${wanted}'; there are ${choices}; or the path of a file`,
      )
      return null
    }
    try {
      if (published !== undefined) return publishedWorkload(published)
      return readDistribution(isAbsolute(wanted) ? wanted : join(dirname(this.#context.file), wanted))
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.#problems.at(path, error.message)
      return null
    }
  }
}
