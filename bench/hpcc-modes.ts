/**
 * Measures every way in which HPCC++ can collect and return telemetry, in virtual time, on three networks:
 * utilization, queues, convergence, fairness, and the cost of telemetry.
 *
 * Telemetry bytes: INT in data packets as they leave, echoes in acknowledgements, and whole probes,
 * notifications and windows, as a share of the data's bytes on the wire. Telemetry packets: probes,
 * notifications and windows per 100 data packets. Feedback: acknowledgements, notifications and windows.
 *
 * Fairness is a mean over an ensemble of jittered starts, because a single run depends more on which flow
 * began first than on the mode. A mode that is less fair than REFERENCE on the same network fails the
 * benchmark. A mode that follows the draft's listing literally does not fail it, and gets a note. All other
 * figures are those of the starts in the file.
 */

import type { TelemetrySettings } from '../lib/cc/telemetry-settings.js'
import { WeirError } from '../lib/errors.js'
import type { TxCounters } from '../lib/nic/tx/tx-pipeline.js'
import { packageFile } from '../lib/package-file.js'
import type { DirectSettings, Scenario } from '../lib/scenario/model/scenario.js'
import { loadScenario } from '../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { ensembleArguments } from './support/ensemble-arguments.js'
import { jitteredStarts } from './support/jittered-starts.js'
import { type Judgement, judge } from './support/judge.js'

const SCENARIOS = ['dumbbell-100g', 'incast-16', 'five-hops']
/** Runs end at this time. */
const DURATION_MAX_NS = 5_000_000
/** The mode that the others are compared with. */
const REFERENCE = 'every packet, every ACK'
/** A mode's Jain index may be this much below that of REFERENCE. */
const UNFAIR_BY = 0.03

interface Mode {
  cc?: string
  /** The mode follows the draft's listing literally. It is reported, but does not fail the benchmark. */
  literal?: boolean
  options?: Record<string, number>
  format?: 'wide' | 'compact'
  ackEvery?: number
  telemetry?: Partial<TelemetrySettings>
  direct?: Omit<DirectSettings, 'intervalNs'>
}

const DIRECT = { thresholdBytes: 20_000, of: 'all' } as const

/** By the names in docs/telemetry.md. */
const MODES: Readonly<Record<string, Mode>> = {
  [REFERENCE]: {},
  'compact records': { format: 'compact' },
  'delayed ACKs, 1 in 4': { ackEvery: 4 },
  'delayed ACKs, 1 in 16': { ackEvery: 16 },
  'every 8th packet': { telemetry: { everyPackets: 8 } },
  'every 16 KB': { telemetry: { everyBytes: 16_000 } },
  'every 8th, notified': { ackEvery: 64, telemetry: { everyPackets: 8, answer: 'notify' } },
  'busiest hop only': { telemetry: { hops: 'busiest' } },
  probes: { telemetry: { collect: 'probe' } },
  'probes, each round trip': { telemetry: { collect: 'probe', probeShare: 1 } },
  'probes, ACKs 1 in 16': { ackEvery: 16, telemetry: { collect: 'probe' } },
  'probes, data plain': { format: 'compact', telemetry: { collect: 'probe', plain: true } },
  'probes, busiest hop only': { telemetry: { collect: 'probe', hops: 'busiest' } },
  'receiver-based': { cc: 'rx-hpcc', ackEvery: 16 },
  'receiver-based, each T': { cc: 'rx-hpcc', ackEvery: 16, options: { rateChange: 0, ackPackets: 0 } },
  'receiver-based, literal': { cc: 'rx-hpcc', ackEvery: 16, literal: true },
  'direct responses': { direct: DIRECT },
  'probes, direct by flag': {
    telemetry: { collect: 'probe', subscribe: 'flag' },
    direct: { ...DIRECT, of: 'subscribed' },
  },
  'probes, direct by DSCP': {
    telemetry: { collect: 'probe', subscribe: 'dscp' },
    direct: { ...DIRECT, of: 'subscribed' },
  },
}

/** All figures but Jain's index are of the starts in the file. */
export interface ModeFigures extends Judgement {
  scenario: string
  mode: string
  /** Mean over the jittered starts, and the least value. */
  jainIndex: number
  leastJainIndex: number
  telemetryByteShare: number
  telemetryPacketShare: number
  acksPerData: number
  feedbackPerData: number
  directResponses: number
}

/** The exit code is 1 if a mode is unfair. */
export function run(args: string[]): ModeFigures[] {
  const { figures, complaints } = measureModes(args)
  if (!args.includes('--json')) process.stdout.write(printed(figures))
  for (const complaint of complaints) process.stderr.write(`${complaint}\n`)
  if (complaints.length > 0) process.exitCode = 1
  return figures
}

/**
 * Measures the mode of that name, or those whose names contain the first argument, on all networks or that of
 * the second. Returns the figures, and which modes are unfair.
 *
 * @param args also `--starts N`, 1 to 1000, default 10, and `--seed N` of their jitter, default 1
 */
export function measureModes(args: string[]): { figures: ModeFigures[]; complaints: string[] } {
  const { positionals, starts, seed } = ensembleArguments(args)
  const [wanted = '', network = ''] = positionals
  const isWanted = (mode: string) => (wanted in MODES ? mode === wanted : mode.includes(wanted))
  const modes = Object.keys(MODES)
  if (!modes.some(isWanted)) throw unknown('mode', wanted, modes)
  if (!SCENARIOS.some(name => name.includes(network))) throw unknown('network', network, SCENARIOS)
  const figures: ModeFigures[] = []
  const complaints: string[] = []
  for (const name of SCENARIOS.filter(scenario => scenario.includes(network))) {
    const scenario = loadScenario(packageFile('bench', 'scenarios', `${name}.yaml`))
    const fair = new Map<string, Fairness>()
    for (const [mode, settings] of Object.entries(MODES))
      if (isWanted(mode) || mode === REFERENCE)
        fair.set(mode, fairness(applied(scenario, settings), starts, seed))
    const shown = Object.entries(MODES).filter(([mode]) => isWanted(mode))
    figures.push(
      ...shown.map(([mode, settings]) => measure(mode, applied(scenario, settings), fair.get(mode)!)),
    )
    complaints.push(...unfair(name, judged(fair)))
  }
  return { figures, complaints }
}

/** The modes that fail the benchmark if they are unfair. */
function judged(fair: ReadonlyMap<string, Fairness>): Map<string, Fairness> {
  return new Map([...fair].filter(([mode]) => !MODES[mode]!.literal))
}

function unknown(what: string, name: string, names: readonly string[]): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `no ${what} is called "${name}": there are ${names.join('; ')}`)
}

/** Jain's index over an ensemble of starts. */
interface Fairness {
  mean: number
  least: number
}

function fairness(scenario: Scenario, starts: number, seed: number): Fairness {
  const all = jitteredStarts(scenario, starts, seed).map(
    one => judge(one, new VirtualRun(one).run()).jainIndex,
  )
  return { mean: all.reduce((sum, index) => sum + index, 0) / starts, least: Math.min(...all) }
}

/**
 * Returns the modes of a network that are less fair than the reference, in words.
 *
 * @param fair fairness by mode, including the reference
 */
export function unfair(network: string, fair: ReadonlyMap<string, Fairness>): string[] {
  const asked = fair.get(REFERENCE)!.mean - UNFAIR_BY
  return [...fair]
    .filter(([, { mean }]) => mean < asked)
    .map(
      ([mode, { mean }]) =>
        `unfair on ${network}: ${mode}, Jain ${mean.toFixed(3)}; "${REFERENCE}" has ${(asked + UNFAIR_BY).toFixed(3)}`,
    )
}

function applied(scenario: Scenario, mode: Mode): Scenario {
  const {
    cc = scenario.cc.name,
    literal,
    options = {},
    ackEvery = 1,
    format = 'wide',
    telemetry,
    direct,
  } = mode
  const { durationNs } = scenario
  return {
    ...scenario,
    cc: { name: cc, options: { ...scenario.cc.options, ...(literal && { literal }), ...options } },
    int: { ...scenario.int, format },
    transport: { ...scenario.transport, ackEvery },
    telemetry: { ...scenario.telemetry, ...telemetry },
    switches: scenario.switches.map(sw => ({
      ...sw,
      ...(direct && {
        telemetry: {
          writes: true,
          queue: 'port',
          rate: 'link',
          direct: { ...direct, intervalNs: scenario.baseRttNs as number },
        },
      }),
    })),
    ...(durationNs !== undefined && { durationNs: Math.min(durationNs, DURATION_MAX_NS) }),
  }
}

function measure(mode: string, scenario: Scenario, fair: Fairness): ModeFigures {
  const virtual = new VirtualRun(scenario)
  const result = virtual.run()
  const sum = (name: keyof TxCounters) => virtual.hostCounters.reduce((all, host) => all + host[name], 0)
  const data = sum('dataFrames')
  const direct = result.ports.reduce((all, port) => all + (port.directResponses ?? 0), 0)
  const ownBytes = sum('telemetryBytes') + sum('echoBytes') + sum('vendorBytes')
  const answers = sum('vendorFrames') / (scenario.telemetry.collect === 'probe' ? 2 : 1)
  return {
    scenario: scenario.name,
    mode,
    ...judge(scenario, result),
    jainIndex: fair.mean,
    leastJainIndex: fair.least,
    telemetryByteShare: ownBytes / sum('dataBytes'),
    telemetryPacketShare: (sum('vendorFrames') + direct) / data,
    acksPerData: sum('ackFrames') / data,
    feedbackPerData: (sum('ackFrames') + answers) / data,
    directResponses: direct,
  }
}

const COLUMNS: readonly [string, (f: ModeFigures) => string][] = [
  ['utilization', f => percent(f.utilization, 1)],
  ['peak KB', f => (f.peakQueueBytes / 1000).toFixed(1)],
  ['mean KB', f => (f.meanQueueBytes / 1000).toFixed(2)],
  ['drained us', f => microseconds(f.drainedNs)],
  ['fair after us', f => microseconds(f.convergenceNs)],
  ['Jain', f => f.jainIndex.toFixed(3)],
  ['least Jain', f => f.leastJainIndex.toFixed(3)],
  ['tel. bytes', f => percent(f.telemetryByteShare, 2)],
  ['tel. packets', f => percent(f.telemetryPacketShare, 2)],
  ['ACKs/data', f => f.acksPerData.toFixed(3)],
  ['feedback/data', f => f.feedbackPerData.toFixed(3)],
]

function printed(figures: readonly ModeFigures[]): string {
  const lines: string[] = []
  for (const name of new Set(figures.map(({ scenario }) => scenario))) {
    lines.push('', name.padEnd(26) + COLUMNS.map(([title]) => title.padStart(14)).join(''))
    for (const f of figures.filter(({ scenario }) => scenario === name)) {
      const note = MODES[f.mode]!.literal ? '  as the draft has it: not judged' : ''
      lines.push(f.mode.padEnd(26) + COLUMNS.map(([, show]) => show(f).padStart(14)).join('') + note)
    }
  }
  return `${lines.join('\n')}\n\n`
}

function microseconds(ns: number | null): string {
  return ns === null ? '-' : (ns / 1000).toFixed(0)
}

function percent(share: number, digits: number): string {
  return `${(100 * share).toFixed(digits)} %`
}
