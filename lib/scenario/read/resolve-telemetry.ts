/** `telemetry` of a scenario file: of all hosts, and of one switch. */
import { ccAcksCollect, ccHearsCnps, ccIsReceiverBased, ccTakesFairRates } from '../../cc/catalogue.js'
import { type Conflict, conflicts, type GivenController, type Modes } from '../../cc/conflicts.js'
import { TELEMETRY_OPTIONS, type TelemetrySettings } from '../../cc/telemetry-options.js'
import { DEFAULT_TELEMETRY } from '../../cc/telemetry-settings.js'
import { idleText } from '../../options/idle.js'
import { keyOf } from '../../options/option.js'
import { dscpMap } from '../model/priorities.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type {
  CcChoice,
  DirectSettings,
  IntSettings,
  ScenarioFlow,
  ScenarioSwitch,
  SwitchTelemetry,
  Workload,
} from '../model/scenario.js'
import { checkShape } from '../schema/check-shape.js'
import { telemetrySchema } from '../schema/settings.js'
import { resolveFeature } from './resolve-features.js'
import { resolveOptions } from './resolve-options.js'

/** Limit of the load that hosts believe where switches report a priority's guaranteed share as the rate. */
const LOAD_OF_SHARES_MAX = 1000

interface Surroundings {
  switches: readonly ScenarioSwitch[]
  int: IntSettings
  /** The scenario's own controller. Flows may have others. */
  cc: CcChoice | null
  flows: readonly ScenarioFlow[]
  workloads: readonly Workload[]
  /** True: hosts probe paths, and probes collect telemetry. */
  probesPaths: boolean
}

/** The settings that a file gives, and the same with all defaults, which are derived from the rest. */
interface Resolved {
  given: Partial<TelemetrySettings>
  telemetry: TelemetrySettings
  defaults: TelemetrySettings
}

/**
 * Returns the controllers of all flows. A file without flows is for a lab, whose programs choose their
 * controllers and ask switches themselves; then it returns none.
 */
export function controllersOf({
  cc,
  flows,
  workloads,
}: Pick<Surroundings, 'cc' | 'flows' | 'workloads'>): string[] {
  return [...flows, ...workloads].map(user => (user.cc ?? cc)?.name ?? '')
}

/** Resolves the settings of all hosts. */
export function resolveTelemetry(
  problems: Problems,
  value: unknown,
  around: Surroundings,
): TelemetrySettings {
  const path = ['telemetry']
  const shape = value === undefined ? null : checkShape(problems, path, telemetrySchema, value, 'telemetry')
  const given = resolveOptions<TelemetrySettings>(problems, path, TELEMETRY_OPTIONS, shape ?? {})
  // With these switches a priority may exceed its guaranteed share, while other priorities send nothing.
  const shares = around.switches.some(sw => sw.telemetry?.rate === 'share')
  const loadMax = shares ? LOAD_OF_SHARES_MAX : DEFAULT_TELEMETRY.loadMax
  const defaults: TelemetrySettings = { ...DEFAULT_TELEMETRY, hostHop: false, loadMax }
  const telemetry: TelemetrySettings = { ...defaults, ...given }
  if (shape !== null) checkEffect(problems, path, { given, telemetry, defaults }, around)
  checkAsked(problems, telemetry.subscribe, around)
  checkFeatures(problems, around)
  if (telemetry.subscribe === 'dscp') checkDscp(problems, path, telemetry.subscribeDscp, around)
  return telemetry
}

/** Reports each given setting that has no effect with the format, the controllers and the switches. */
function checkEffect(
  problems: Problems,
  path: DocumentPath,
  { given, telemetry, defaults }: Resolved,
  around: Surroundings,
): void {
  const { int, cc, flows, workloads, probesPaths } = around
  const modes: Modes = {
    given,
    telemetry,
    defaults,
    format: int.format,
    probesPaths,
    isEverybody: true,
    answeringSwitches: answersOf(around.switches).length,
  }
  for (const { name, idle } of telemetryConflicts(modes, around)) {
    problems.atKey([...path, nameOf(name)], idleText(nameOf(name), idle))
  }
  for (const { name, idle } of cc === null ? [] : countingConflicts(modes, cc)) {
    problems.atKey(['cc', name], `${cc!.name}: ${idleText(name, idle)}`)
  }
  const [counted] = [...flows, ...workloads].flatMap(user =>
    user.cc ? countingConflicts(modes, user.cc) : [],
  )
  if (counted !== undefined) {
    const { name } = counted
    const why = `it tells no last hop, which the ${name} of a flow's cc needs: set hops to all, or leave ${name} out`
    problems.atKey([...path, 'hops'], why)
  }
}

/** A daemon of a lab refuses what has no effect with its own controller, whatever single flows have. */
function telemetryConflicts(modes: Modes, around: Surroundings): Conflict[] {
  const { cc } = around
  const names = controllersOf(around)
  const isOwn = cc !== null && ccIsReceiverBased(cc.name)
  const own = isOwn ? conflicts('telemetry', { ...modes, names: [cc.name] }) : []
  const all = conflicts('telemetry', cc !== null && names.length > 0 ? { ...modes, names } : modes)
  return [...own, ...all.filter(({ name }) => !own.some(other => other.name === name))]
}

function countingConflicts(modes: Modes, cc: GivenController): Conflict[] {
  return conflicts('cc', { ...modes, cc }).filter(({ name }) => name === 'countFlows' || name === 'lastHop')
}

/** What a file calls the setting. */
function nameOf(key: string): string {
  return TELEMETRY_OPTIONS.find(option => keyOf(option) === key)!.name
}

/** Switches that answer congestion by themselves. */
function answersOf(switches: readonly ScenarioSwitch[]): ScenarioSwitch[] {
  return switches.filter(({ telemetry }) => telemetry?.direct !== undefined)
}

/** Reports switches that respond only to packets that ask, when no packet asks. */
function checkAsked(
  problems: Problems,
  subscribe: TelemetrySettings['subscribe'],
  around: Surroundings,
): void {
  if (subscribe !== 'off' || controllersOf(around).length === 0) return
  const idle = { while: 'subscribe of telemetry is off', mend: 'telemetry: {subscribe: flag}, or of to all' }
  for (const { name, telemetry } of answersOf(around.switches)) {
    if (telemetry!.direct!.of !== 'subscribed') continue
    problems.atKey(
      ['switches', name, 'telemetry', 'direct', 'of'],
      `${name}: ${idleText('direct of subscribed', idle)}`,
    )
  }
}

/** Features of switches for which only some controllers have a use. */
const FOR_CONTROLLERS = [
  {
    feature: 'intTable',
    within: ['telemetry'],
    uses: ccAcksCollect,
    idle: { while: 'no flow has a cc whose acknowledgements collect telemetry', mend: 'cc to fncc' },
  },
  {
    feature: 'rocc',
    within: [],
    uses: ccTakesFairRates,
    idle: { while: 'no flow has a cc that takes fair rates', mend: 'cc to rocc' },
  },
  {
    feature: 'ipcc',
    within: [],
    uses: ccHearsCnps,
    idle: { while: 'no flow has a cc that takes notice of CNPs', mend: 'cc to dcqcn' },
  },
]

/** Reports features of switches that no controller has a use for. */
function checkFeatures(problems: Problems, around: Surroundings): void {
  const names = controllersOf(around)
  if (names.length === 0 || names.includes('')) return
  for (const { feature, within, uses, idle } of FOR_CONTROLLERS) {
    const those = around.switches.filter(({ features }) => features?.[feature] !== undefined)
    if (those.length === 0 || names.some(uses)) continue
    for (const { name } of those) {
      problems.atKey(['switches', name, ...within, feature], `${name}: ${idleText(feature, idle)}`)
    }
  }
}

/** All packets of a flow must pass through the same queues. */
function checkDscp(problems: Problems, path: DocumentPath, dscp: number, around: Surroundings): void {
  const { switches, flows, workloads } = around
  const priorities = new Set([...flows, ...workloads].map(({ priority }) => priority))
  for (const sw of switches) {
    const there = dscpMap(sw)[dscp] ?? 0
    const other = [...priorities].find(priority => priority !== there)
    if (other === undefined) continue
    const what = `${sw.name} gives DSCP ${dscp} priority ${there}, and flows have priority ${other}`
    problems.at([...path, 'subscribeDscp'], `${what}: packets would overtake each other`)
    return
  }
}

/** Resolves the settings of one switch. */
export function resolveSwitchTelemetry(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
): SwitchTelemetry | undefined {
  if (value === undefined) return undefined
  // YAML 1.2 reads `off` as a string.
  if (value === 'off' || value === false) return { writes: false, queue: 'port', rate: 'link' }
  const telemetry = resolveFeature<Omit<SwitchTelemetry, 'writes' | 'direct'>>(
    problems,
    path,
    'telemetry',
    value,
    'telemetry of a switch (or it is off)',
  )
  if (telemetry === null) return undefined
  const { direct: given } = value as { direct?: unknown }
  const direct =
    given === undefined
      ? null
      : resolveFeature<DirectSettings>(problems, [...path, 'direct'], 'direct', given)
  return { writes: true, ...telemetry, ...(direct && { direct }) }
}
