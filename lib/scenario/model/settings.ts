/**
 * All settings of a run with every default filled in, for `settings` of the result. Null stands for a setting
 * that is absent (no marking, no end), or for a constant that the controller derives from the connection.
 */
import { ccIsReceiverBased, ccOptions } from '../../cc/catalogue.js'
import type { Nanos } from '../../time/nanos.js'
import { headroomByPort, longestFrameBytes } from './headroom.js'
import { dscpMap } from './priorities.js'
import type {
  CcChoice,
  DeadlockPreventionSettings,
  EcnSettings,
  InofSettings,
  Link,
  NetworkEvent,
  PfcSettings,
  Scenario,
  ScenarioFlow,
  ScenarioHost,
  ScenarioSwitch,
  StaticRoute,
  SwitchTelemetry,
  TransportSettings,
  Watch,
  Workload,
} from './scenario.js'
import type { VtepNetwork } from './vtep.js'

/** A controller with every constant. */
interface CcSettings {
  name: string
  options: Record<string, number | string | boolean | null>
}

type Resolved<T, K extends keyof T> = Omit<T, K> & { [key in K]-?: Exclude<T[key], undefined> | null }

interface PfcResolved
  extends Resolved<
    Omit<PfcSettings, 'headroomBytes'>,
    'xoffBytes' | 'alpha' | 'xonBytes' | 'xonOffsetBytes' | 'reservedBytes' | 'quanta' | 'watchdog'
  > {
  /** By port number. */
  headroomBytes: number[]
}

interface SwitchSettings {
  name: string
  id: number
  bufferBytes: number
  queueBytesMax: number
  ecn: EcnSettings[]
  pfc: PfcResolved | null
  /** By DSCP, 0 to 63. */
  dscpToTc: number[]
  pcpToTc: Record<number, number> | null
  /** By priority. 0: strict. */
  weights: number[]
  telemetry: Resolved<SwitchTelemetry, 'ratioOnly' | 'direct'>
  /** Other features. Absent: none is on. */
  features?: ScenarioSwitch['features']
}

export interface RunSettings {
  cc: CcSettings
  transport: Resolved<TransportSettings, 'key'>
  int: Scenario['int']
  telemetry: Scenario['telemetry']
  paths: Scenario['paths']
  baseRttNs: Nanos | 'measured'
  durationNs: Nanos | null
  seed: number
  hashSeed: number
  /** Absent: paths are the shortest. */
  spanningTrees?: number
  watch: Watch
  hosts: ScenarioHost[]
  switches: SwitchSettings[]
  links: Link[]
  routes: Resolved<StaticRoute, 'startNs' | 'endNs'>[]
  /** Absent: there are none. */
  events?: NetworkEvent[]
  /** Absent: routes stay. */
  rerouteNs?: Nanos
  deadlockPrevention: DeadlockPreventionSettings | null
  /** Absent: hosts do not announce themselves. */
  inof?: InofSettings
  /** Absent: there are no virtual networks. */
  vtep?: VtepNetwork[]
  /** The flows that the file lists. `sourcePort` null: the NIC draws one. */
  flows: (Omit<Resolved<ScenarioFlow, 'sourcePort'>, 'cc'> & { cc: CcSettings })[]
  workloads: (Omit<Workload, 'cc' | 'seed'> & { seed: number; cc: CcSettings })[]
}

/** Replaces the key in a result. It is valid as a key itself, so that the run can be repeated. */
export const KEY_LEFT_OUT = '(left out of results)'
const DEFAULT_QUANTA = 65_535

export function settingsOf(scenario: Scenario): RunSettings {
  const { transport, int, telemetry, paths, baseRttNs, watch, hosts, links, seed, hashSeed } = scenario
  // Flows of one entry of the file, which may be many, share their controller.
  const known = new Map<CcChoice, CcSettings>()
  const ccOf = (choice: CcChoice = scenario.cc) => {
    const settings = known.get(choice) ?? ccSettings(choice)
    known.set(choice, settings)
    return settings
  }
  return {
    cc: ccOf(undefined),
    transport: { ...transport, key: transport.key === undefined ? null : KEY_LEFT_OUT },
    int,
    telemetry,
    paths,
    baseRttNs,
    durationNs: scenario.durationNs ?? null,
    seed,
    hashSeed,
    ...(scenario.spanningTrees !== undefined && { spanningTrees: scenario.spanningTrees }),
    watch,
    hosts,
    switches: scenario.switches.map(sw => switchSettings(scenario, sw)),
    links,
    routes: (scenario.routes ?? []).map(({ startNs = null, endNs = null, ...route }) => ({
      ...route,
      startNs,
      endNs,
    })),
    ...(scenario.events && { events: scenario.events }),
    ...(scenario.rerouteNs !== undefined && { rerouteNs: scenario.rerouteNs }),
    deadlockPrevention: scenario.deadlockPrevention ?? null,
    ...(scenario.inof && { inof: withoutPassword(scenario.inof) }),
    ...(scenario.vtep && { vtep: scenario.vtep }),
    // By names: there may be ten thousand, and spreads would make each several times as large.
    flows: scenario.flows.map(({ name, from, to, bytes, startNs, priority, sourcePort = null, cc }) => ({
      name,
      from,
      to,
      bytes,
      startNs,
      priority,
      sourcePort,
      cc: ccOf(cc),
    })),
    workloads: scenario.workloads.map(({ cc, seed: own = seed, ...workload }) => ({
      ...workload,
      seed: own,
      cc: ccOf(cc),
    })),
  }
}

function ccSettings({ name, options }: CcChoice): CcSettings {
  const entries = ccOptions(name).map(({ name: option, default: standard = null }) => {
    return [option, options[option] ?? standard]
  })
  return { name, options: Object.fromEntries(entries) }
}

function switchSettings(scenario: Scenario, sw: ScenarioSwitch): SwitchSettings {
  const { name, id, bufferBytes, queueBytesMax = bufferBytes, ecn = [], pcpToTc = null } = sw
  const map = dscpMap(sw)
  const direct = sw.telemetry?.direct
  const to = direct?.to ?? (ccIsReceiverBased(scenario.cc.name) ? 'receiver' : 'sender')
  return {
    name,
    id,
    bufferBytes,
    queueBytesMax,
    ecn,
    pfc: sw.pfc === undefined ? null : pfcSettings(scenario, sw.name, sw.pfc),
    dscpToTc: Array.from({ length: 64 }, (_, dscp) => map[dscp] ?? 0),
    pcpToTc,
    weights: sw.weights ?? new Array<number>(8).fill(0),
    telemetry: {
      writes: sw.telemetry?.writes ?? true,
      queue: sw.telemetry?.queue ?? 'port',
      rate: sw.telemetry?.rate ?? 'link',
      ratioOnly: sw.telemetry?.ratioOnly ?? false,
      direct: direct === undefined ? null : { ...direct, to },
    },
    ...(sw.features && { features: sw.features }),
  }
}

function pfcSettings(scenario: Scenario, name: string, pfc: PfcSettings): PfcResolved {
  const links = scenario.links.filter(({ a, b }) => a.node === name || b.node === name)
  return {
    priorities: pfc.priorities,
    xoffBytes: pfc.xoffBytes ?? null,
    alpha: pfc.alpha ?? null,
    xonBytes: pfc.xonBytes ?? null,
    xonOffsetBytes: pfc.xonOffsetBytes ?? null,
    reservedBytes: pfc.reservedBytes ?? 0,
    headroomBytes: headroomByPort(pfc, links, longestFrameBytes(scenario)),
    quanta: pfc.quanta ?? DEFAULT_QUANTA,
    watchdog: pfc.watchdog ?? null,
  }
}

function withoutPassword(inof: InofSettings): InofSettings {
  return inof.password === undefined ? inof : { ...inof, password: KEY_LEFT_OUT }
}
