/**
 * Options of different tables that have no effect beside each other: the one table that daemons, connections, scenario files, `--help` and the
 * reference follow. Options of one table have rules of their own (`idle` of `lib/options/option.ts`).
 */
import { WeirError } from '../errors.js'
import { type Idle, idleText } from '../options/idle.js'
import { keyOf } from '../options/option.js'
import { INT_OPTIONS } from '../wire/telemetry/int-options.js'
import { FORMAT_COMPACT } from '../wire/telemetry/int-shim.js'
import { formatOf, type IntFormat } from '../wire/telemetry/telemetry.js'
import {
  ccAcksCollect,
  ccAlwaysCollects,
  ccAsksForCnps,
  ccDecidesReturn,
  ccHearsCnps,
  ccIsReceiverBased,
  ccOptions,
  ccProbesOnly,
  ccTakesDirectResponses,
  ccTakesFairRates,
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

/** Whose options a row is about, as files and command lines call them. */
type ConflictGroup = 'telemetry' | 'int' | 'cc' | 'transport'

/** An option without effect. */
export interface Conflict {
  /** By `keyOf`. */
  name: string
  idle: Idle
}

/** What decides. Of what is absent nothing is known: rows that need it hold for nobody. */
export interface Modes {
  /** What was set of telemetry, and the same with all others. */
  given?: Partial<TelemetrySettings>
  telemetry: TelemetrySettings
  /** Settings that change nothing. Default: those of a host. */
  defaults?: Readonly<TelemetrySettings>
  format?: IntFormat
  /** Names of the options of `int` that were set. */
  int?: readonly string[]
  /** What was set of CNPs. */
  transport?: { cnpPriority?: number; untaggedCnps?: number }
  /** Controllers of all flows, by name. */
  names?: readonly string[]
  /** The controller whose options rows of `cc` are about. */
  cc?: GivenController
  /** Path probes collect telemetry too. */
  probesPaths?: boolean
  start?: Start
  /** The settings are those of all hosts; false: of one host, whose peers may have other controllers. */
  isEverybody?: boolean
  /** `--io` as it is in force: a port of `lib/io`, or vxlan. */
  io?: string
  /** Switches that send direct responses. */
  answeringSwitches?: number
  /** Switches that work out fair rates. */
  ratingSwitches?: number
}

/** One way in which options do not go together. */
export interface ConflictRow {
  group: ConflictGroup
  /** Names by `keyOf`. A row is about those of them for which it holds. */
  options: readonly string[]
  /** When they have no effect, in words, for help and reference. */
  when: string
  /** The same for the values in force. Default: `when`. */
  said?: (modes: Modes) => string
  /** What to set so that they have one. */
  mend: string
  /** Only a file says it: a command line does not know of switches. Or only a command line. Default: both. */
  only?: 'files' | 'commands'
  holds(modes: Modes, name: string): boolean
}

const TELEMETRY_NAMES = TELEMETRY_OPTIONS.map(keyOf)
const INT_NAMES = INT_OPTIONS.map(keyOf)
/** Ports that do not tell how much waits for the host. */
const MUTE_IO: readonly string[] = ['dgram', 'raw', 'packet', 'vxlan']
const NO_TELEMETRY = 'cc is one that uses no telemetry, such as fixed-window'

/**
 * IFA and IOAM have no flags; INT-MD has some in packets that collect, and nothing in others. None of the three has an empty header for
 * packets that do not collect.
 */
export const CONFLICTS: readonly ConflictRow[] = [
  {
    group: 'telemetry',
    options: ['plain'],
    when: 'the format is p4-int-md, ifa or ioam, with which packets that collect nothing are always plain',
    said: ({ format }) => `the format is ${format}, with which packets that collect nothing are always plain`,
    mend: 'the format to wide or compact',
    holds: ({ telemetry, format }) => telemetry.plain && isForeign(format),
  },
  {
    group: 'telemetry',
    options: ['subscribe'],
    when: 'it is flag and the format is ifa or ioam, which has no flag that asks switches',
    said: ({ format }) => `the format is ${format}, which has no flag that asks switches`,
    mend: 'subscribe to dscp',
    holds: ({ telemetry, format }) =>
      telemetry.subscribe === 'flag' && isForeign(format) && format !== 'p4-int-md',
  },
  {
    group: 'telemetry',
    options: ['subscribe'],
    when: 'it is flag, the format is p4-int-md and collect is probe: data packets have no header for the flag',
    said: () => 'the format is p4-int-md and collect is probe: data packets have no header for the flag',
    mend: 'subscribe to dscp, or collect to data',
    holds: ({ telemetry, format }) =>
      telemetry.subscribe === 'flag' && telemetry.collect === 'probe' && format === 'p4-int-md',
  },
  {
    group: 'telemetry',
    options: ['hops'],
    when: 'it is busiest and the format is compact, whose records name no links',
    said: () => 'the format is compact, whose records name no links',
    mend: 'the format to wide',
    holds: ({ telemetry, format }) => telemetry.hops === 'busiest' && format === 'compact',
  },
  {
    group: 'telemetry',
    options: TELEMETRY_NAMES,
    when: NO_TELEMETRY,
    said: noTelemetry,
    mend: 'cc to hpcc',
    holds: (modes, name) => !wantsTelemetry(modes) && isChanged(modes, name) && !isUsedAnyway(modes, name),
  },
  {
    group: 'telemetry',
    options: keysUsed(({ by }) => by === 'echo'),
    when: 'cc is rx-hpcc, whose receiver returns windows',
    said: ({ names = [] }) => `cc is ${names[0]}, whose receiver returns windows`,
    mend: 'cc to hpcc',
    holds: (modes, name) => isChanged(modes, name) && isReceiverBased(modes),
  },
  {
    group: 'telemetry',
    options: keysUsed(({ by }) => by === 'direct-responses'),
    when: 'cc is cubic, which ignores direct responses',
    said: ({ names = [] }) => `cc is ${names[0]}, which ignores direct responses`,
    mend: 'cc to hpcc',
    holds: (modes, name) =>
      isChanged(modes, name) && wantsTelemetry(modes) && modes.names?.some(ccTakesDirectResponses) === false,
  },
  {
    group: 'telemetry',
    options: ['collect', 'everyPackets', 'everyBytes'],
    when: 'cc is one whose probes alone collect telemetry: none of the controllers here, but a program may add one',
    said: ({ names = [] }) => `cc is ${names[0]}, whose probes collect telemetry`,
    mend: 'cc to hpcc',
    holds: (modes, name) => isChanged(modes, name) && isProbesOnly(modes),
  },
  {
    group: 'telemetry',
    options: ['probeShare'],
    when: 'collect is data, and cc is not one whose probes alone collect telemetry',
    said: () => 'collect is data',
    mend: 'collect to probe',
    holds: modes =>
      isChanged(modes, 'probeShare') &&
      modes.telemetry.collect === 'data' &&
      wantsTelemetry(modes) &&
      modes.names?.some(ccProbesOnly) === false,
  },
  {
    // Only where the peers, whose data this host answers, have the same settings.
    group: 'telemetry',
    options: ['answer'],
    when: 'collect is probe: each probe has an answer of its own',
    mend: 'collect to data',
    only: 'files',
    holds: modes =>
      modes.isEverybody === true &&
      collects(modes) === 'probe' &&
      isChanged(modes, 'answer') &&
      modes.names !== undefined &&
      wantsTelemetry(modes) &&
      !isReceiverBased(modes),
  },
  {
    group: 'telemetry',
    options: ['answer'],
    when: 'cc is one that needs telemetry to return in one way: none of the controllers here, but a program may add one',
    said: ({ names = [] }) => `cc is ${names[0]}, which needs telemetry to return in one way`,
    mend: 'cc to hpcc',
    only: 'files',
    holds: modes =>
      modes.isEverybody === true &&
      isChanged(modes, 'answer') &&
      wantsTelemetry(modes) &&
      modes.names?.every(ccDecidesReturn) === true,
  },
  {
    group: 'telemetry',
    options: ['plain'],
    when: 'everyPackets is 1 and cc is one that takes all telemetry, such as hpcc: every packet collects',
    said: () => 'every packet collects telemetry',
    mend: 'everyPackets above 1, or collect to probe',
    holds: modes => {
      const { everyPackets, everyBytes } = modes.telemetry
      const isEvery = collects(modes) === 'data' && everyPackets === 1 && everyBytes === 0
      return isEvery && isChanged(modes, 'plain') && modes.names?.every(ccAlwaysCollects) === true
    },
  },
  {
    group: 'telemetry',
    options: ['subscribe'],
    when: 'no switch has telemetry.direct',
    mend: 'direct: {threshold: 50KB} of a switch',
    only: 'files',
    holds: ({ telemetry, answeringSwitches }) => telemetry.subscribe !== 'off' && answeringSwitches === 0,
  },
  {
    group: 'telemetry',
    options: ['hostHop'],
    when: '--io is dgram, raw or packet, which do not tell how much waits for this host',
    said: ({ io }) => `--io is ${io}, which does not tell how much waits for this host`,
    mend: '--io to batch',
    only: 'commands',
    holds: ({ given, io = '' }) => given?.hostHop === true && MUTE_IO.includes(io),
  },
  {
    // A daemon serves connections with other controllers too: those of `weir perf`, say.
    group: 'int',
    options: INT_NAMES,
    when: 'no flow has a cc that uses telemetry',
    said: noTelemetry,
    mend: 'cc to hpcc',
    only: 'files',
    holds: (modes, name) =>
      modes.isEverybody === true &&
      modes.int?.includes(name) === true &&
      !wantsTelemetry(modes) &&
      !acksCollect(modes) &&
      modes.probesPaths !== true,
  },
  {
    // N counts the flows of the last hop, which the busiest hop need not be.
    group: 'cc',
    options: ['countFlows', 'lastHop'],
    when: 'hops of telemetry is busiest, which does not tell the last hop',
    mend: 'hops to all',
    holds: ({ telemetry, cc }, name) =>
      telemetry.hops === 'busiest' && Number(cc?.options?.[name] ?? 0) !== 0,
  },
  {
    // The start decides where `lossReaction` is not given.
    group: 'cc',
    options: ['lossBeta'],
    when: 'lossReaction is not given and flows begin at line rate',
    mend: 'lossReaction to true',
    holds: ({ cc, start }) => cc !== undefined && start === 'line-rate' && lacksLossReaction(cc),
  },
  {
    // The start decides where `patched` is not given.
    group: 'cc',
    options: ['hyperAfter', 'hyperSteps', 'hyperBelowLow'],
    when: 'patched is not given and flows begin carefully',
    mend: 'patched to false',
    holds: ({ cc, start }, name) =>
      cc?.options?.[name] !== undefined && start === 'careful' && isPatchedByStart(cc),
  },
  {
    group: 'cc',
    options: ['recovery', 'minRate', 'intervalMost'],
    when: 'cc is rocc and no switch has rocc',
    mend: 'rocc: {} of a switch',
    only: 'files',
    holds: ({ cc, ratingSwitches }, name) =>
      cc?.options?.[name] !== undefined && ratingSwitches === 0 && ccTakesFairRates(cc.name),
  },
  {
    // A daemon answers whatever its peers ask for, and other RoCEv2 hosts unasked.
    group: 'transport',
    options: ['cnpPriority'],
    when: 'no flow has a cc that asks for CNPs, such as dcqcn',
    mend: 'cc to dcqcn',
    only: 'files',
    holds: ({ transport, names, isEverybody }) =>
      isEverybody === true && transport?.cnpPriority !== undefined && names?.some(ccAsksForCnps) === false,
  },
  {
    group: 'transport',
    options: ['untaggedCnps'],
    when: 'cc is one that takes no notice of CNPs, such as hpcc',
    said: ({ names = [] }) => `cc is ${names[0]}, which takes no notice of CNPs`,
    mend: 'cc to dcqcn',
    holds: ({ transport, names }) => (transport?.untaggedCnps ?? 0) > 0 && names?.some(ccHearsCnps) === false,
  },
]

/** The options of the group that have no effect. */
export function conflicts(group: ConflictGroup, modes: Modes): Conflict[] {
  return CONFLICTS.flatMap(row => {
    if (row.group !== group) return []
    const names = row.options.filter(name => row.holds(modes, name))
    const idle = (): Idle => ({ while: row.said?.(modes) ?? row.when, mend: row.mend })
    return names.map(name => ({ name, idle: idle() }))
  })
}

/** For `--help`: a line each. */
export function describeConflicts(): string[] {
  return CONFLICTS.filter(({ only }) => only !== 'files').map(row => `${subjectOf(row)}, while ${row.when}`)
}

/** `telemetry plain`; of a row about all options of its group `all of telemetry`. */
export function subjectOf({ group, options }: ConflictRow): string {
  const all = { telemetry: TELEMETRY_NAMES, int: INT_NAMES, cc: [], transport: [] }[group]
  return options.length === all.length ? `all of ${group}` : `${group} ${options.join(', ')}`
}

/** The settings of one host, or of one of its connections. */
interface GivenModes extends Omit<Modes, 'given' | 'names' | 'probesPaths'> {
  /** What was set of telemetry. `telemetry` has the same, completed by settings from elsewhere and by defaults. */
  given: Partial<TelemetrySettings>
  paths: PathSettings
  cc: GivenController
}

/** Throws WEIR_BAD_ARGUMENT for an option that has no effect beside the others. */
export function checkModes({ paths, ...given }: GivenModes): void {
  const modes: Modes = { ...given, names: [given.cc.name], probesPaths: probesPaths(paths) }
  checkTelemetryModes(modes)
  refuseFirst('int', conflicts('int', modes))
  refuseFirst(given.cc.name, conflicts('cc', modes))
  refuseFirst('transport', conflicts('transport', modes))
}

/** Throws WEIR_BAD_ARGUMENT for a setting of telemetry without effect, as far as that is known: of an encapsulation or a port, say. */
export function checkTelemetryModes(modes: Modes): void {
  refuseFirst('telemetry', conflicts('telemetry', modes))
}

function refuseFirst(topic: string, [first]: readonly Conflict[]): void {
  if (first === undefined) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${idleText(first.name, first.idle)}`)
}

function isForeign(format: IntFormat | undefined): boolean {
  return format !== undefined && formatOf(format) > FORMAT_COMPACT
}

/** True where nothing is known of the controllers. */
function wantsTelemetry({ names }: Modes): boolean {
  return names === undefined || names.some(ccWantsTelemetry)
}

function isReceiverBased({ names }: Modes): boolean {
  return names?.every(ccIsReceiverBased) === true
}

function isProbesOnly({ names = [] }: Modes): boolean {
  return names.length > 0 && names.every(ccProbesOnly)
}

/** Which packets collect telemetry, with the controllers' needs. */
function collects(modes: Modes): TelemetrySettings['collect'] {
  return isProbesOnly(modes) ? 'probe' : modes.telemetry.collect
}

/** A setting at its default changes nothing. */
function isChanged({ given = {}, defaults = DEFAULT_TELEMETRY }: Modes, name: string): boolean {
  const key = name as keyof TelemetrySettings
  return given[key] !== undefined && given[key] !== defaults[key]
}

/** Path probes go by some settings, and a host by others as the receiver of its peers' data. */
function isUsedAnyway(modes: Modes, name: string): boolean {
  const { probesPaths, isEverybody } = modes
  return keysUsed(
    ({ pathProbes, receiving, acks }) =>
      (pathProbes === true && probesPaths === true) ||
      (acks === true && acksCollect(modes)) ||
      (receiving === true && isEverybody !== true),
  ).includes(name)
}

function acksCollect({ names = [] }: Modes): boolean {
  return names.some(ccAcksCollect)
}

/** The settings whose row in the table of telemetry says so. */
function keysUsed(isSo: (use: TelemetryUse) => boolean): string[] {
  return TELEMETRY_OPTIONS.filter(({ use }) => use !== undefined && isSo(use)).map(keyOf)
}

function noTelemetry({ names = [] }: Modes): string {
  const [name = ''] = names
  return acksCollect({ names } as Modes)
    ? `cc is ${name}, whose acknowledgements alone collect telemetry`
    : `cc is ${name}, which uses no telemetry`
}

/** Whether flows that begin carefully are patched because nothing was said. */
function isPatchedByStart({ name, options = {} }: GivenController): boolean {
  return options.patched === undefined && ccOptions(name).some(spec => spec.name === 'patched')
}

/** One that is off by default is refused with the options of the controller. */
function lacksLossReaction({ name, options = {} }: GivenController): boolean {
  const { lossBeta, lossReaction } = options
  if (lossBeta === undefined || lossReaction !== undefined) return false
  const standard = ccOptions(name).find(spec => spec.name === 'lossReaction')?.default ?? null
  return standard === null && name !== 'auto'
}
