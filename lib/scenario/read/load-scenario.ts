/**
 * Turns a scenario file (YAML) into a resolved `Scenario`.
 *
 * Defaults: links 1Gbps and 10us; switch buffer 32MB, no ECN, no PFC; cc hpcc with its own defaults; path MTU
 * 1024, an acknowledgement per packet, 7 retries; wide INT with as many slots as the longest path has
 * switches; base RTT measured; priority 3; samples every 100us if there is a `watch`; seed 1.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Document, isAlias, LineCounter, parseDocument, type Scalar } from 'yaml'
import * as ccCatalogue from '../../cc/catalogue.js'
import { conflicts } from '../../cc/conflicts.js'
import { probesPaths } from '../../cc/path-settings.js'
import { DEFAULT_TELEMETRY } from '../../cc/telemetry-settings.js'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { IFA_PROTOCOL } from '../../frame/ifa-protocol.js'
import { defaultsOf } from '../../options/check-options.js'
import { idleText } from '../../options/idle.js'
import { CNP_PRIORITY, TRANSPORT_OPTIONS, UNTAGGED_CNPS } from '../../qp/transport-options.js'
import { INT_FORMAT, INT_HOPS, INT_OPTIONS, type IntOptions } from '../../wire/telemetry/int-options.js'
import { checkPriorities } from '../model/priorities.js'
import { Problems } from '../model/problems.js'
import type { IntSettings, Scenario, TransportSettings } from '../model/scenario.js'
import { KEY_LEFT_OUT } from '../model/settings.js'
import type { SizeDistribution } from '../model/size-distribution.js'
import { Topology } from '../model/topology.js'
import { checkShape } from '../schema/check-shape.js'
import { scenarioSchema } from '../schema/scenario.js'
import { intSchema, transportSchema } from '../schema/settings.js'
import { scenarioFile } from './bundled-scenarios.js'
import { checkMemory } from './check-memory.js'
import { resolveDeadlockPrevention } from './deadlock-prevention.js'
import { resolveEvents } from './events/resolve-events.js'
import { checkFlowCount } from './expand-traffic.js'
import { rememberPlaces } from './places.js'
import { type CcCatalogue, DEFAULT_CC, resolveCc } from './resolve-cc.js'
import { checkFeatureLinks } from './resolve-features.js'
import { resolveInof } from './resolve-inof.js'
import { resolveNetwork } from './resolve-network.js'
import { resolveOptions } from './resolve-options.js'
import { resolvePaths } from './resolve-paths.js'
import { resolveRoutes } from './resolve-routes.js'
import { controllersOf, resolveTelemetry } from './resolve-telemetry.js'
import { type ResolvedTraffic, resolveTraffic } from './resolve-traffic.js'
import { checkVtep, resolveVtep } from './resolve-vtep.js'
import { resolveWatch } from './resolve-watch.js'

const DEFAULT_SEED = 1

/** Options of `transport` but its key. */
const BESIDE_KEY = [...TRANSPORT_OPTIONS, CNP_PRIORITY, UNTAGGED_CNPS]
const DEFAULT_TRANSPORT = defaultsOf<TransportSettings>([...TRANSPORT_OPTIONS, UNTAGGED_CNPS])

interface ParseOptions {
  /** The controllers that `cc` may name. Default: those of lib/cc. */
  catalogue?: CcCatalogue
  /**
   * The flow sizes of the workloads, in the order of the file, in place of their files of flow sizes.
   * Default: the files are read.
   */
  sizes?: readonly SizeDistribution[]
}

/**
 * Reads and resolves a scenario file, or the scenario of that name that comes with the package
 * (`scenarioFile`). Throws WEIR_NO_FILE if it cannot be read, and all that `parseScenario` throws.
 */
export function loadScenario(given: string): Scenario {
  const path = scenarioFile(given)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `the scenario ${path} cannot be read: ${whyNotRead(cause)}`, {
      cause,
    })
  }
  return parseScenario(text, path)
}

/**
 * Resolves the text of a scenario file. Throws WEIR_BAD_SCENARIO. Its message has one line for each problem:
 * `file:line:column: the mistake and the choices`.
 */
export function parseScenario(text: string, fileName: string, options: ParseOptions = {}): Scenario {
  const lines = new LineCounter()
  const problems = new Problems(fileName, lines)
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  problems.document = document
  for (const error of document.errors) problems.atOffset(error.pos[0], error.message)
  problems.throwIfAny()
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    problems.at([], (error as Error).message)
    problems.throwIfAny()
  }
  const scenario = resolveScenario(problems, value, fileName, options)
  problems.throwIfAny()
  rememberPlaces(scenario!, problems)
  return { ...scenario!, text: withoutSecrets(text, document, scenario!) }
}

/** A secret of so many characters is looked for in the rest of the text too: in a comment. A shorter one may be part of other words. */
const REPEATED_LENGTH = 8

/** Replaces the key and the password in the text, so that the text may be published. */
function withoutSecrets(text: string, document: Document, { transport, inof }: Scenario): string {
  const secrets = [
    { path: ['transport', 'key'], value: transport.key },
    { path: ['inof', 'password'], value: inof?.password },
  ].flatMap(({ path, value }) => (value === undefined ? [] : [{ place: placeOf(document, path), value }]))
  let published = text
  // From the last on, so that the places of those before stay.
  for (const { place } of secrets.sort((a, b) => b.place[0] - a.place[0]))
    published = published.slice(0, place[0]) + JSON.stringify(KEY_LEFT_OUT) + published.slice(place[1])
  for (const { value } of secrets)
    if (value.length >= REPEATED_LENGTH) published = published.replaceAll(value, KEY_LEFT_OUT)
  return published
}

/** Where in the text a value begins and ends. */
function placeOf(document: Document, path: readonly string[]): readonly [number, number, number] {
  const node = document.getIn(path, true)
  return (isAlias(node) ? node.resolve(document) : (node as Scalar))!.range!
}

/** Returns null only after a problem was reported. */
function resolveScenario(
  problems: Problems,
  value: unknown,
  file: string,
  { catalogue = ccCatalogue, sizes = [] }: ParseOptions,
): Scenario | null {
  // Sections are resolved even when a top-level key is wrong, so that one run shows every problem.
  const shape = checkShape(problems, [], scenarioSchema, value, 'a scenario')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const given = (shape ?? value) as { [key in keyof Scenario | 'traffic' | 'link']?: unknown }

  const before = problems.count
  const network = resolveNetwork(problems, given)
  const topology = problems.count === before ? new Topology(network) : null
  checkFeatureLinks(problems, network)
  const names = network.switches.map(({ name }) => name)
  const hostNames = network.hosts.map(({ name }) => name)
  const vtep = topology === null ? [] : resolveVtep({ problems, ...network }, given.vtep)
  const routes = resolveRoutes({ problems, topology, hostNames, switchNames: names, vtep }, given.routes)
  const events = resolveEvents(problems, given.events, topology, { hostNames, switches: network.switches })
  const prevention = resolveDeadlockPrevention(problems, given.deadlockPrevention, topology, network.switches)
  const inof = resolveInof({ problems, hostNames, switchCount: names.length }, given.inof)
  const transport = resolveTransport(problems, given.transport)
  const { start, pathMtu } = transport
  const cc = resolveCc(problems, ['cc'], given.cc === undefined ? DEFAULT_CC : given.cc, catalogue, pathMtu)
  const switchNames = new Set(names)
  const traffic = resolveTraffic(
    { problems, file, hosts: network.hosts, switchNames, topology, catalogue, start, pathMtu, sizes },
    given.traffic,
  )
  const { flows, workloads } = traffic
  const int = resolveInt(problems, given, topology, {
    flows,
    workloads,
    switchCount: network.switches.length,
  })
  const paths = resolvePaths(problems, given.paths)
  const around = { ...network, int, cc, flows, workloads, probesPaths: probesPaths(paths) }
  const telemetry = resolveTelemetry(problems, given.telemetry, around)
  checkControllers(problems, given, { cc, flows, workloads, transport, paths, switches: network.switches })
  const watch = resolveWatch(problems, given.watch, topology, names)
  if (topology !== null) {
    checkPriorities(problems, network, { flows, workloads })
    checkMemory(problems, { ...network, transport, int, vtep })
    checkVtep(problems, vtep, { transport, int, flows, workloads })
  }
  if (shape === null || cc === null) return null
  const { hosts, switches, links } = network
  const scenario: Scenario = {
    name: shape.name ?? basename(file).replace(/\.ya?ml$/, ''),
    file,
    text: '',
    hosts,
    switches,
    links,
    ...(vtep.length > 0 && { vtep }),
    ...(routes.length > 0 && { routes }),
    ...(shape.spanningTrees !== undefined && { spanningTrees: shape.spanningTrees }),
    ...(events.length > 0 && { events }),
    ...(shape.reroute !== undefined && { rerouteNs: shape.reroute }),
    ...(prevention && { deadlockPrevention: prevention }),
    ...(inof && { inof }),
    cc,
    transport,
    int,
    telemetry,
    paths,
    baseRttNs: shape.baseRtt ?? 'measured',
    flows,
    workloads,
    watch,
    ...(shape.duration !== undefined && { durationNs: shape.duration }),
    seed: shape.seed ?? DEFAULT_SEED,
    hashSeed: shape.seed ?? DEFAULT_SEED,
  }
  if (problems.count === 0) checkFlowCount(problems, scenario, traffic.places)
  return scenario
}

/**
 * Reports options that have no effect beside the controllers, and options of controllers that have none
 * beside the others.
 */
function checkControllers(
  problems: Problems,
  given: { int?: unknown },
  around: Pick<Scenario, 'flows' | 'workloads' | 'transport' | 'paths' | 'switches'> & {
    cc: Scenario['cc'] | null
  },
): void {
  const { cc, flows, workloads, transport, paths, switches } = around
  checkUntagged(problems, transport, switches)
  if (cc === null) return
  // What counting flows needs of telemetry is looked at with that.
  const ratingSwitches = switches.filter(({ features }) => features?.rocc !== undefined).length
  const own = { telemetry: DEFAULT_TELEMETRY, cc, start: transport.start, ratingSwitches }
  for (const { name, idle } of conflicts('cc', own)) {
    problems.atKey(['cc', name], `${cc.name}: ${idleText(name, idle)}`)
  }
  const names = controllersOf({ cc, flows, workloads })
  if (names.length === 0) return
  const known = { names, transport, probesPaths: probesPaths(paths), isEverybody: true }
  const int = Object.keys((given.int ?? {}) as object)
  const modes = { telemetry: DEFAULT_TELEMETRY, int, ...known }
  for (const group of ['int', 'transport'] as const) {
    for (const { name, idle } of conflicts(group, modes)) problems.atKey([group, name], idleText(name, idle))
  }
}

/** Reports switches that send CNPs to hosts which take none of them. */
function checkUntagged(
  problems: Problems,
  { key, untaggedCnps }: TransportSettings,
  switches: Scenario['switches'],
): void {
  if (key === undefined || untaggedCnps > 0) return
  const idle = {
    while: 'hosts have a key and untaggedCnps is 0, so that they take no CNP of a switch',
    mend: 'untaggedCnps of transport to 10%',
  }
  for (const { name, features } of switches) {
    if (features?.ipcc === undefined) continue
    problems.atKey(['switches', name, 'ipcc'], `${name}: ${idleText('ipcc', idle)}`)
  }
}

function resolveTransport(problems: Problems, value: unknown): TransportSettings {
  if (value === undefined) return { ...DEFAULT_TRANSPORT }
  const path = ['transport']
  const shape = checkShape(problems, path, transportSchema, value, 'transport') ?? {}
  const given = resolveOptions<TransportSettings>(problems, path, BESIDE_KEY, shape)
  const { key } = shape as { key?: string }
  if (given.untaggedCnps && key === undefined)
    problems.atKey([...path, UNTAGGED_CNPS.name], `${UNTAGGED_CNPS.name} has no effect without key; set key`)
  return { ...DEFAULT_TRANSPORT, ...given, ...(key !== undefined && { key }) }
}

function resolveInt(
  problems: Problems,
  { int: value, spanningTrees }: { int?: unknown; spanningTrees?: unknown },
  topology: Topology | null,
  { switchCount, ...traffic }: Pick<ResolvedTraffic, 'flows' | 'workloads'> & { switchCount: number },
): IntSettings {
  const shape = value === undefined ? null : checkShape(problems, ['int'], intSchema, value, 'int')
  const given = resolveOptions<IntOptions>(problems, ['int'], INT_OPTIONS, shape ?? {})
  const shortest = topology === null ? 1 : longestPathSwitches(topology, traffic)
  // A path of a tree passes each switch once at most.
  const longest =
    spanningTrees === undefined ? shortest : Math.max(shortest, Math.min(switchCount, INT_HOPS.max))
  if (given.hops === undefined && longest > INT_HOPS.max) {
    problems.at(
      ['int'],
      `a path has ${longest} switches, telemetry has ${INT_HOPS.max} slots at most; give int: {hops: …}`,
    )
  }
  const { format = INT_FORMAT.default, hops = Math.max(1, longest), ifaProtocol = IFA_PROTOCOL } = given
  return { format, ...(ifaProtocol !== IFA_PROTOCOL && { ifaProtocol }), hops }
}

function longestPathSwitches(
  topology: Topology,
  { flows, workloads }: Pick<ResolvedTraffic, 'flows' | 'workloads'>,
): number {
  let longest = 0
  const look = (from: string, to: string) => {
    longest = Math.max(longest, topology.distance(from, to) - 1)
  }
  for (const { from, to } of flows) look(from, to)
  for (const { hosts } of workloads) {
    for (const from of hosts) for (const to of hosts) look(from, to)
  }
  if (flows.length > 0 || workloads.length > 0) return longest
  // In a lab without traffic of its own any host may send to any other that it can reach.
  const hosts = topology.hostNames
  for (const from of hosts) {
    for (const to of hosts) if (topology.distance(from, to) !== Number.POSITIVE_INFINITY) look(from, to)
  }
  return Math.min(longest, INT_HOPS.max)
}
