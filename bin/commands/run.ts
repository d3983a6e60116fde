import { resolve } from 'node:path'
import type { Command } from 'commander'
import { SNAPLEN } from '../../lib/capture/capture-options.js'
import { WeirError } from '../../lib/errors.js'
import { type CommandOption, MOST, type SettingsOf } from '../../lib/options/option.js'
import { htmlReport } from '../../lib/scenario/html/html-report.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import type { CapacityResult, RunResult } from '../../lib/scenario/result/result.js'
import {
  checkResultFile,
  resultJson,
  writeResult,
  writeResultText,
} from '../../lib/scenario/result/write-result.js'
import { columnsMost } from '../../lib/text-width.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import type { CapturePlace } from '../../switch-emu/captures/port-captures.js'
import type { RealTimeOptions } from '../../switch-emu/real-time/run-traffic.js'
import type { RunView } from '../../switch-emu/results/run-view.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { commandOf } from './names.js'
import { readRepeated, readScenario, type ScenarioReader } from './read-scenario.js'
import { runProgress } from './run-progress.js'
import { withScenarioList } from './scenario-list.js'
import { addValueOptions, valuesOf } from './value-options.js'

type Place = RunResult['on']

const COMES_UP = 'the network comes up'

const OPTIONS = [
  {
    name: 'on',
    kind: 'choice',
    choices: ['virtual', 'overlay', 'veth'],
    doc: 'where it runs (virtual: simulated time; overlay: processes joined by VXLAN on loopback; veth: real packets between network namespaces)',
    command: { flag: '--on <place>', usual: 'virtual; with --repeat where the result was made' },
  },
  {
    name: 'seed',
    kind: 'count',
    min: 0,
    max: MOST,
    doc: 'seed of every random choice',
    idle: [{ while: { repeat: { given: true } } }],
    command: { flag: '--seed <number>', usual: 'that of the scenario' },
  },
  {
    name: 'repeat',
    kind: 'text',
    doc: 'run the scenario of a result of --json again, with its seed and settings; - is standard input',
    command: { flag: '--repeat <result>' },
  },
  {
    name: 'json',
    kind: 'text',
    doc: 'write the result there; - is standard output',
    command: { flag: '--json <file>' },
  },
  {
    name: 'report',
    kind: 'text',
    doc: 'write a report with graphs there: one HTML file, with what `watch` samples over time; - is standard output',
    command: { flag: '--report <file>' },
  },
  {
    name: 'pcap',
    kind: 'text',
    doc: 'capture every switch port there: s1--s2.pcapng is the port of s1 towards s2',
    command: { flag: '--pcap <dir>' },
  },
  SNAPLEN,
] as const satisfies readonly CommandOption[]

type RunOptions = Partial<SettingsOf<typeof OPTIONS>>

/** `weir run SCENARIO`: one scenario, in virtual time or in real time, one report. */
export function runCommand(): Command {
  const command = withScenarioList(commandOf('run')).argument(
    '[scenario]',
    'scenario file (YAML), - for standard input, or a name of --list',
  )
  return addValueOptions(command, OPTIONS).action(
    async (file: string | undefined, flags: object, command: Command) => {
      const options = valuesOf(OPTIONS, flags)
      const task = await taskOf(file, options, command)
      checkFiles(options)
      const result = { ...(await run(task, options)), command: process.argv.slice(2) }
      const isPrinted = print(result, task.repeated, options)
      writeFiles(result, options, isPrinted)
      checkFlows(result)
    },
  )
}

/** Throws WEIR_NO_FILE or WEIR_BAD_ARGUMENT if what a run is to write cannot be written. */
function checkFiles({ json, report }: RunOptions): void {
  if (json !== undefined && report !== undefined && resolve(json) === resolve(report))
    throw new WeirError('WEIR_BAD_ARGUMENT', `--json and --report both name ${json}`)
  for (const file of [json, report]) if (file !== undefined && file !== '-') checkResultFile(file)
}

/** What is to be run, and where. */
interface Task {
  scenario: Scenario
  on: Place
  /** The result that the run repeats, and the keys in which another one differs from it. */
  repeated?: { file: string; result: RunResult; differences: (result: RunResult) => readonly string[] }
}

async function taskOf(file: string | undefined, options: RunOptions, command: Command): Promise<Task> {
  const { repeat, on } = options
  if (repeat === undefined) {
    if (file === undefined) command.error("error: missing required argument 'scenario'")
    const place = on ?? 'virtual'
    return { scenario: await readScenario(file, await readerFor(place)), on: place }
  }
  if (file !== undefined) {
    const text = `--repeat has the scenario from the result: leave ${file} out`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const result = await readRepeated(repeat)
  const { resultDifferences, scenarioOfResult } = await import('../../lib/scenario/repeat.js')
  const differences = (other: RunResult) => resultDifferences(other, result)
  return {
    scenario: scenarioOfResult(result, repeat),
    on: on ?? result.on,
    repeated: { file: repeat, result, differences },
  }
}

/** In virtual time the file that runs the scenario reads it too: what both need is in memory once. */
async function readerFor(on: Place): Promise<ScenarioReader> {
  return on === 'virtual'
    ? await import('../../switch-emu/virtual/engine.js')
    : await import('../../lib/scenario/read/load-scenario.js')
}

/** Writes to standard output. Returns whether that is for people: else it has the JSON or the report alone. */
function print(result: RunResult, repeated: Task['repeated'], { json, report }: RunOptions): boolean {
  if (json === '-' || report === '-') {
    process.stdout.write(json === '-' ? resultJson(result) : htmlReport(result))
    return false
  }
  process.stdout.write(printTables(result, columnsMost(process.stdout)))
  const more = result.captures ?? repeated ?? json ?? report
  if (more !== undefined) process.stdout.write('\n')
  if (result.captures !== undefined) {
    const { folder, trafficStartNs } = result.captures
    const clock =
      trafficStartNs === null
        ? 'by the time of day'
        : `from 1970 on; the traffic begins at ${formatDuration(trafficStartNs)}`
    process.stdout.write(`captures: ${folder} (${clock})\n`)
  }
  if (repeated !== undefined && result.on === 'virtual' && repeated.result.on === 'virtual') {
    const keys = repeated.differences(result)
    const how = keys.length === 0 ? 'the same as' : `differs (${keys.join(', ')}) from`
    process.stdout.write(`${how} ${repeated.file}\n`)
  }
  return true
}

/** @param isPrinted each is named on standard output */
function writeFiles(result: RunResult, { json, report }: RunOptions, isPrinted: boolean): void {
  if (json !== undefined && json !== '-') {
    writeResult(json, result)
    if (isPrinted) process.stdout.write(`JSON: ${json}\n`)
  }
  if (report !== undefined && report !== '-') {
    writeResultText(report, htmlReport(result))
    if (isPrinted) process.stdout.write(`report: ${report}\n`)
  }
}

/**
 * A flow is no failure if the run's time was up, or if settings refused it. Throws WEIR_CONNECTION_LOST for
 * flows that failed, and WEIR_NOTHING_CARRIED if nothing of any flow has arrived.
 */
function checkFlows({ on, flows, totals, settings }: RunResult): void {
  const [first] = flows.filter(flow => flow.failed !== undefined)
  if (first !== undefined) {
    const count = `${totals.failed} of ${totals.flows} flows failed`
    const { name, from, to, failed } = first
    throw new WeirError('WEIR_CONNECTION_LOST', `${count}; ${name} (${from} to ${to}): ${failed}`)
  }
  if (totals.ackedBytes > 0 || totals.flows === totals.refused) return
  const time =
    settings.durationNs === null ? 'its end' : `its duration (${formatDuration(settings.durationNs)})`
  const mend =
    on === 'virtual'
      ? 'give it a longer duration'
      : 'this machine is too slow for it in real time: use --on virtual, or lower rates and a longer duration'
  throw new WeirError('WEIR_NOTHING_CARRIED', `no byte of any flow was acknowledged within ${time}; ${mend}`)
}

/** Returns a warning before a run that demands more than the machine can carry. */
function warningOf(capacity: CapacityResult, on: Place): string | null {
  const { io, packetBytes, datagramsPerSecond, packetsPerSecondMost, demandedPacketsPerSecond, demandedBps } =
    capacity
  if (demandedPacketsPerSecond <= packetsPerSecondMost) return null
  const mostBps = Math.round(packetsPerSecondMost * packetBytes * 8)
  return (
    `weir: warning: the scenario demands up to ${formatRate(demandedBps)} (${demandedPacketsPerSecond} packets/s), and this machine ` +
    `carries at most some ${formatRate(mostBps)} (${packetsPerSecondMost} packets/s) on ${on}: one thread was seen to send and receive ` +
    `${datagramsPerSecond} datagrams/s of ${formatBytes(packetBytes)} (${io}). Times and rates will be those of the machine; ` +
    'use --on virtual, or lower rates.\n'
  )
}

async function run({ scenario, on }: Task, options: RunOptions): Promise<RunResult> {
  const captures = capturesOf(options)
  const progress = runProgress()
  const shared = {
    seed: options.seed,
    captures,
    ...(progress && { onProgress: (view: RunView) => progress.show(view) }),
  }
  const made = (trafficStartNs: number | null) =>
    options.pcap === undefined ? {} : { captures: { folder: options.pcap, trafficStartNs } }
  const cancelled = new AbortController()
  const removeHandlers = on === 'virtual' ? cancelOnSignal(cancelled) : () => {}
  try {
    if (on === 'virtual') {
      const { tuneGarbageCollection, VirtualRun } = await import('../../switch-emu/virtual/engine.js')
      tuneGarbageCollection()
      const run = new VirtualRun(scenario, shared)
      return { ...(await run.runAside(cancelled.signal)), ...made(run.startNs) }
    }
    progress?.wait('the network starts')
    const onCapacity = (capacity: CapacityResult) => {
      const warning = warningOf(capacity, on)
      if (warning === null) return
      progress?.clear()
      process.stderr.write(warning)
      progress?.wait(COMES_UP)
    }
    return { ...(await runInRealTime(scenario, on, { ...shared, onCapacity })), ...made(null) }
  } finally {
    removeHandlers()
    progress?.stop()
  }
}

async function runInRealTime(
  scenario: Scenario,
  on: 'overlay' | 'veth',
  options: RealTimeOptions,
): Promise<RunResult> {
  if (on === 'veth') {
    const { runVeth } = await import('../../switch-emu/lab/run-veth.js')
    return await runVeth(scenario, options)
  }
  const { runOverlay } = await import('../../switch-emu/overlay/run-overlay.js')
  return await runOverlay(scenario, options)
}

function capturesOf({ pcap, snaplenBytes }: RunOptions): CapturePlace | undefined {
  // The switches may be another process, in another folder.
  return pcap === undefined ? undefined : { folder: resolve(pcap), snapBytes: snaplenBytes }
}
