/**
 * Settings of telemetry that have no effect beside the encapsulation or the controller in force. What they need among
 * themselves is in `telemetry-options.ts`. Scenario files, daemons and connections refuse them alike.
 */
import { WeirError } from '../errors.js'
import { type Idle, idleText } from '../options/idle.js'
import { keyOf } from '../options/option.js'
import { FORMAT_COMPACT } from '../wire/telemetry/int-shim.js'
import { formatOf, type IntFormat } from '../wire/telemetry/telemetry.js'
import {
  ccAlwaysCollects,
  ccIsReceiverBased,
  ccOptions,
  ccProbesOnly,
  ccTakesDirectResponses,
  ccWantsTelemetry,
} from './catalogue.js'
import type { OptionValues } from './options.js'
import { type PathSettings, probesPaths } from './path-settings.js'
import { TELEMETRY_OPTIONS, type TelemetryUse } from './telemetry-options.js'
import { DEFAULT_TELEMETRY, type TelemetrySettings } from './telemetry-settings.js'

/** A controller and the options that are given for it. */
export interface GivenController {
  name: string
  options?: OptionValues
}

/** How flows begin: `Start` of a NIC. */
type Start = 'line-rate' | 'careful'

/** A setting without effect. */
export interface Conflict {
  name: keyof TelemetrySettings
  idle: Idle
}

/**
 * What the encapsulation cannot do. IFA and IOAM have no flags; INT-MD has some in packets that collect, and nothing in
 * others. None of the three has an empty header for packets that do not collect.
 */
export function conflictsWithFormat(settings: TelemetrySettings, format: IntFormat): Conflict[] {
  if (formatOf(format) <= FORMAT_COMPACT) return []
  const native = 'the format to wide or compact'
  const found: Conflict[] = []
  if (settings.plain) {
    const why = `the format is ${format}, with which packets that collect nothing are always plain`
    found.push({ name: 'plain', idle: { while: why, mend: native } })
  }
  if (settings.subscribe !== 'flag') return found
  if (format !== 'p4-int-md') {
    const why = `the format is ${format}, which has no flag that asks switches`
    found.push({ name: 'subscribe', idle: { while: why, mend: 'subscribe to dscp' } })
  } else if (settings.collect === 'probe') {
    const why = 'the format is p4-int-md and collect is probe: data packets have no header for the flag'
    found.push({ name: 'subscribe', idle: { while: why, mend: 'subscribe to dscp, or collect to data' } })
  }
  return found
}

/** What decides, beside settings of telemetry. */
export interface Users {
  /** Controllers of all flows, one at least. */
  names: readonly string[]
  /** Path probes collect telemetry too. */
  probesPaths: boolean
  /** The settings are those of all hosts; false: of one host, whose peers may have other controllers. */
  isEverybody: boolean
  /** Settings that change nothing. Default: those of a host. */
  defaults?: Readonly<TelemetrySettings>
}

/**
 * Settings that no controller uses. A setting at its default changes nothing, so it is not among them.
 *
 * @param given what was set, @param settings the same with all others
 */
export function conflictsWithControllers(
  given: Partial<TelemetrySettings>,
  settings: TelemetrySettings,
  users: Users,
): Conflict[] {
  const { names, defaults = DEFAULT_TELEMETRY } = users
  const asked = keysOf(given).filter(name => given[name] !== defaults[name])
  if (!names.some(ccWantsTelemetry)) return conflictsWithNoTelemetry(asked, users)
  const found: Conflict[] = []
  const add = (name: keyof TelemetrySettings, idle: Idle) => {
    if (asked.includes(name)) found.push({ name, idle })
  }
  if (names.every(ccIsReceiverBased)) {
    const idle = { while: `cc is ${names[0]}, whose receiver returns windows`, mend: 'cc to hpcc' }
    for (const name of settingsUsed(({ by }) => by === 'echo')) add(name, idle)
  }
  if (!names.some(ccTakesDirectResponses)) {
    const idle = { while: `cc is ${names[0]}, which ignores direct responses`, mend: 'cc to hpcc' }
    for (const name of settingsUsed(({ by }) => by === 'direct-responses')) add(name, idle)
  }
  const probesOnly = names.every(ccProbesOnly)
  if (probesOnly) {
    const idle = { while: `cc is ${names[0]}, whose probes collect telemetry`, mend: 'cc to hpcc' }
    for (const name of ['everyPackets', 'everyBytes'] as const) add(name, idle)
  }
  const { everyPackets, everyBytes } = settings
  const collect = probesOnly ? 'probe' : settings.collect
  // Only where the peers, whose data this host answers, have the same settings.
  if (users.isEverybody && collect === 'probe' && found.length === 0) {
    add('answer', { while: 'collect is probe: each probe has an answer of its own', mend: 'collect to data' })
  }
  if (collect === 'data' && everyPackets === 1 && everyBytes === 0 && names.every(ccAlwaysCollects)) {
    const mend = 'everyPackets above 1, or collect to probe'
    add('plain', { while: 'every packet collects telemetry', mend })
  }
  return found
}

function conflictsWithNoTelemetry(
  asked: readonly (keyof TelemetrySettings)[],
  { names, probesPaths, isEverybody }: Users,
): Conflict[] {
  const idle = noTelemetry(names)
  const used = settingsUsed(
    ({ pathProbes, receiving }) => (pathProbes && probesPaths) || (receiving && !isEverybody),
  )
  return asked.filter(name => !used.includes(name)).map(name => ({ name, idle }))
}

/** The settings whose row in the table says so. */
function settingsUsed(isSo: (use: TelemetryUse) => boolean | undefined): (keyof TelemetrySettings)[] {
  const options = TELEMETRY_OPTIONS.filter(({ use }) => use !== undefined && isSo(use))
  return options.map(option => keyOf(option) as keyof TelemetrySettings)
}

/** Why it does not matter how telemetry lies in packets; null: it does. */
export function idleEncapsulation({ names, probesPaths }: Omit<Users, 'isEverybody'>): Idle | null {
  return names.some(ccWantsTelemetry) || probesPaths ? null : noTelemetry(names)
}

function noTelemetry([name]: readonly string[]): Idle {
  return { while: `cc is ${name}, which uses no telemetry`, mend: 'cc to hpcc' }
}

function keysOf<T extends object>(value: T): (keyof T)[] {
  return Object.keys(value) as (keyof T)[]
}

/** Why `countFlows` of a controller has no effect; null: it has. N counts the flows of the last hop, which the busiest hop need not be. */
export function idleCountFlows(settings: TelemetrySettings, cc: GivenController): Idle | null {
  if (settings.hops !== 'busiest' || Number(cc.options?.countFlows ?? 0) === 0) return null
  return { while: 'hops of telemetry is busiest, which does not tell the last hop', mend: 'hops to all' }
}

/** Why `lossBeta` of a controller has no effect; null: it has, or is not given. The start decides where `lossReaction` is not given. */
export function idleLossBeta({ name, options = {} }: GivenController, start: Start): Idle | null {
  const { lossBeta, lossReaction } = options
  if (lossBeta === undefined || lossReaction !== undefined || start !== 'line-rate') return null
  const standard = ccOptions(name).find(spec => spec.name === 'lossReaction')?.default ?? null
  // One that is off by default is refused with the options of the controller.
  if (standard !== null || name === 'auto') return null
  return { while: 'lossReaction is not given and flows begin at line rate', mend: 'lossReaction to true' }
}

/** Throws WEIR_BAD_ARGUMENT for a setting that the encapsulation cannot do. */
export function checkFormat(settings: TelemetrySettings, format: IntFormat): void {
  refuseFirst(conflictsWithFormat(settings, format))
}

/** The settings of one host, or of one of its connections. */
export interface GivenModes {
  telemetry: Partial<TelemetrySettings>
  /** The same, completed by settings from elsewhere and by defaults. */
  settings: TelemetrySettings
  paths: PathSettings
  cc: GivenController
  start: Start
  /** As in `Users`. Default false. */
  isEverybody?: boolean
}

/** Throws WEIR_BAD_ARGUMENT for a setting, or an option of the controller, that has no effect beside the others. */
export function checkModes({ telemetry, settings, paths, cc, start, isEverybody = false }: GivenModes): void {
  const users = { names: [cc.name], probesPaths: probesPaths(paths), isEverybody }
  refuseFirst(conflictsWithControllers(telemetry, settings, users))
  checkCountFlows(settings, cc)
  const idle = idleLossBeta(cc, start)
  if (idle !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `${cc.name}: ${idleText('lossBeta', idle)}`)
}

/** Throws WEIR_BAD_ARGUMENT if the controller is to count flows, and these settings forbid it. */
export function checkCountFlows(settings: TelemetrySettings, cc: GivenController): void {
  const idle = idleCountFlows(settings, cc)
  if (idle !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `${cc.name}: ${idleText('countFlows', idle)}`)
}

function refuseFirst([first]: readonly Conflict[]): void {
  if (first === undefined) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `telemetry: ${idleText(first.name, first.idle)}`)
}
