import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { loadScenario } from '../../lib/scenario/load-scenario.js'
import {
  checkResultFile,
  printTables,
  type RunResult,
  resultJson,
  writeResult,
} from '../../lib/scenario/result.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import { formatDuration } from '../../lib/units/units.js'
import type { CapturePlace } from '../../switch-emu/port-captures.js'
import type { RealTimeOptions } from '../../switch-emu/real-time/run-traffic.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { commandOf } from './names.js'
import { runProgress } from './run-progress.js'
import { withScenarioList } from './scenario-list.js'

interface RunOptions {
  on: 'virtual' | 'overlay' | 'veth'
  seed?: number
  json?: string
  pcap?: string
  snaplen?: number
}

/** `weir run SCENARIO`: one scenario, in virtual time or in real time, one report. */
export function runCommand(): Command {
  return withScenarioList(commandOf('run'))
    .argument('<scenario>', 'scenario file (YAML), or the name of one of --list')
    .addOption(
      new Option(
        '--on <place>',
        'virtual: simulated time; overlay: processes joined by VXLAN on loopback; veth: real packets between network namespaces',
      )
        .choices(['virtual', 'overlay', 'veth'])
        .default('virtual'),
    )
    .option('--seed <number>', 'seed of every random choice; default: that of the scenario', parseSeed)
    .option('--json <file>', 'write the result there; - is standard output')
    .option('--pcap <dir>', 'capture every switch port there: s1--s2.pcapng is the port of s1 towards s2')
    .option('--snaplen <bytes>', 'bytes kept of a captured frame, 64 to 65535 (default: all)', parseSnaplen)
    .action(async (file: string, options: RunOptions) => {
      if (options.snaplen !== undefined && options.pcap === undefined) {
        throw new WeirError('WEIR_BAD_ARGUMENT', '--snaplen is about captures: give --pcap DIR too')
      }
      const scenario = loadScenario(file)
      if (options.json !== undefined && options.json !== '-') checkResultFile(options.json)
      const { result, captureClock } = await run(scenario, options)
      if (options.json === '-') process.stdout.write(resultJson(result))
      else {
        process.stdout.write(`${printTables(result)}\n`)
        if (options.pcap !== undefined) {
          process.stdout.write(`captures: ${options.pcap} (${captureClock})\n`)
        }
        if (options.json !== undefined) {
          writeResult(options.json, result)
          process.stdout.write(`JSON: ${options.json}\n`)
        }
      }
      checkFlows(result)
    })
}

/** A run whose time was up, or that refused flows by its settings, is none that failed. Throws WEIR_CONNECTION_LOST. */
function checkFlows({ flows }: RunResult): void {
  const failed = flows.filter(flow => flow.failed !== undefined)
  if (failed.length === 0) return
  const [{ name, from, to, failed: why }] = failed as [RunResult['flows'][number]]
  const count = `${failed.length} of ${flows.length} flows failed`
  throw new WeirError('WEIR_CONNECTION_LOST', `${count}; ${name} (${from} to ${to}): ${why}`)
}

interface Ran {
  result: RunResult
  /** What the times in the captures are. */
  captureClock: string
}

async function run(scenario: Scenario, options: RunOptions): Promise<Ran> {
  const captures = capturesOf(options)
  const progress = runProgress()
  const shared = { seed: options.seed, captures, ...(progress && { onProgress: progress.show }) }
  try {
    if (options.on === 'virtual') {
      const run = new VirtualRun(scenario, shared)
      const result = run.run()
      return { result, captureClock: `from 1970 on; the traffic begins at ${formatDuration(run.startNs)}` }
    }
    progress?.wait('the network comes up')
    const result = await runInRealTime(scenario, options.on, shared)
    return { result, captureClock: 'in time of day' }
  } finally {
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

function capturesOf({ pcap, snaplen }: RunOptions): CapturePlace | undefined {
  // The switches may be another process, in another folder.
  return pcap === undefined ? undefined : { folder: resolve(pcap), snapBytes: snaplen }
}

function parseSnaplen(text: string): number {
  const bytes = Number(text)
  if (Number.isInteger(bytes) && bytes >= 64 && bytes <= 65_535) return bytes
  throw new WeirError('WEIR_BAD_ARGUMENT', `--snaplen is a whole number from 64 to 65535, not ${text}`)
}

function parseSeed(text: string): number {
  const seed = Number(text)
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `--seed is a whole number from 0 on, not ${text}`)
  }
  return seed
}
