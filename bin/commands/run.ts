import cliProgress from 'cli-progress'
import { Command, Option } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { loadScenario } from '../../lib/scenario/load-scenario.js'
import { printTables, type RunResult, resultJson, writeResult } from '../../lib/scenario/result.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import { formatDuration } from '../../lib/units/units.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

interface RunOptions {
  on: 'virtual' | 'overlay'
  seed?: number
  json?: string
}

/** `weir run SCENARIO`: one scenario, in virtual time or in real time, one report. */
export function runCommand(): Command {
  return new Command('run')
    .description('run a scenario file and report what happened')
    .argument('<scenario>', 'scenario file (YAML)')
    .addOption(
      new Option('--on <place>', 'virtual: simulated time; overlay: processes joined by VXLAN on loopback')
        .choices(['virtual', 'overlay'])
        .default('virtual'),
    )
    .option('--seed <number>', 'seed of every random choice; default: that of the scenario', parseSeed)
    .option('--json <file>', 'write the result there; - is standard output')
    .action(async (file: string, options: RunOptions) => {
      const result = await run(loadScenario(file), options)
      if (options.json === '-') {
        process.stdout.write(resultJson(result))
        return
      }
      process.stdout.write(`${printTables(result)}\n`)
      if (options.json === undefined) return
      writeResult(options.json, result)
      process.stdout.write(`JSON: ${options.json}\n`)
    })
}

async function run(scenario: Scenario, options: RunOptions): Promise<RunResult> {
  if (options.on === 'virtual') return runVirtual(scenario, options.seed)
  const { runOverlay } = await import('../../switch-emu/overlay/run-overlay.js')
  return runOverlay(scenario, { seed: options.seed })
}

function runVirtual(scenario: Scenario, seed: number | undefined): RunResult {
  const bar = new cliProgress.SingleBar(
    {
      format: '{bar} {value}/{total} flows  at {at}',
      noTTYOutput: false,
      clearOnComplete: true,
      stream: process.stderr,
    },
    cliProgress.Presets.shades_classic,
  )
  const shown = process.stderr.isTTY === true
  let started = false
  const onProgress = (timeNs: number, done: number, flows: number) => {
    if (!started) bar.start(flows, 0, { at: '' })
    started = true
    bar.update(done, { at: formatDuration(timeNs) })
  }
  try {
    return new VirtualRun(scenario, { seed, ...(shown && { onProgress }) }).run()
  } finally {
    if (started) bar.stop()
  }
}

function parseSeed(text: string): number {
  const seed = Number(text)
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `--seed is a whole number from 0 on, not ${text}`)
  }
  return seed
}
