/**
 * Speed of the virtual network: packets x hops per CPU-second. A packet x hop is one frame, data or acknowledgement,
 * sent by one switch port: what an event-driven simulator calls a switch enqueue. CPU time is the process's, so
 * that other work on the machine counts less than it does in wall time.
 *
 * Each round of each case is a process of its own. Its first run is cold: the compiler works meanwhile. The last one is warm.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { packageFile } from '../lib/package-file.js'
import { median } from '../lib/scenario/result/fairness.js'
import { table } from '../lib/scenario/result/table.js'
import { type SimCase, simCases } from './sim/cases.js'
import type { SimRun } from './sim/run-case.js'
import { stealSince, stealTicks } from './steal.js'
import { wholeNumber } from './support/whole-number.js'

/** Runs of a round: the compiler is done after the second. */
const RUNS = 3

const execute = promisify(execFile)

/** What one checkout took for one case: medians over the rounds. */
interface SimFigures {
  /** CPU time of the first run, and of the last. */
  coldSeconds: number
  warmSeconds: number
  packetHops: number
  events: number
  /** Memory of a process after its first run, bytes. */
  residentBytes: number
}

interface SimComparison {
  name: string
  here: SimFigures
  /** The other checkout, if there is one. */
  other?: SimFigures
  /** Median of the other's time by this one's: above 1, this one is faster. */
  coldRatio?: number
  warmRatio?: number
}

/** Arguments: names of cases, or scenario files; all cases when there are none. */
export async function run(args: string[]): Promise<SimComparison[]> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      against: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      json: { type: 'boolean' },
    },
  })
  const rounds = wholeNumber('rounds', values.rounds, 1, 100)
  const checkouts = [dirname(packageFile('package.json')), ...(values.against ? [values.against] : [])]
  for (const checkout of checkouts) checkBuilt(checkout)
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-sim-'))
  const steal = stealTicks()
  try {
    const compared: SimComparison[] = []
    for (const one of simCases(positionals)) compared.push(await compare(one, checkouts, rounds, folder))
    const share = stealSince(steal)
    if (!values.json) process.stdout.write(printed(compared, share))
    return compared
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function checkBuilt(checkout: string): void {
  const engine = join(checkout, 'dist', 'switch-emu', 'virtual', 'virtual-run.js')
  if (existsSync(engine)) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `--against: ${engine} is missing: run npm ci in ${checkout}`)
}

/** Alternates the checkouts. */
async function compare(
  { name, text }: SimCase,
  checkouts: readonly string[],
  rounds: number,
  folder: string,
): Promise<SimComparison> {
  const file = join(folder, 'scenario.yaml')
  writeFileSync(file, text)
  const taken: SimRun[][][] = checkouts.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, checkout] of checkouts.entries()) taken[i]!.push(await runIn(checkout, file))
  }
  const [here, other] = taken.map(figuresOf)
  if (other === undefined) return { name, here: here! }
  return {
    name,
    here: here!,
    other,
    coldRatio: other.coldSeconds / here!.coldSeconds,
    warmRatio: other.warmSeconds / here!.warmSeconds,
  }
}

async function runIn(checkout: string, file: string): Promise<SimRun[]> {
  const program = fileURLToPath(new URL('./sim/run-case.js', import.meta.url))
  const { stdout } = await execute(process.execPath, [program, checkout, file, String(RUNS)])
  return JSON.parse(stdout)
}

function figuresOf(rounds: readonly SimRun[][]): SimFigures {
  const { packetHops, events } = rounds[0]![0]!
  return {
    coldSeconds: median(rounds.map(runs => runs[0]!.cpuSeconds)),
    warmSeconds: median(rounds.map(runs => runs.at(-1)!.cpuSeconds)),
    packetHops,
    events,
    residentBytes: median(rounds.map(runs => runs[0]!.residentBytesMax)),
  }
}

function printed(compared: readonly SimComparison[], steal: number | null): string {
  const rows = compared.map(({ name, here, other, coldRatio, warmRatio }) => [
    name,
    `${(here.packetHops / 1000).toFixed(0)} k`,
    ...columns(here),
    ...(other === undefined ? [] : [...columns(other), coldRatio!.toFixed(2), warmRatio!.toFixed(2)]),
  ])
  const own = ['cold CPU-s', 'warm', 'hops/s cold', 'warm', 'memory']
  const others =
    compared[0]?.other === undefined ? [] : [...own.map(name => `other's ${name}`), 'x cold', 'x warm']
  const stolen = steal === null ? '' : `steal ${(100 * steal).toFixed(1)} %\n`
  return `${table(['case', 'packets x hops', ...own, ...others], rows, 1)}\n${stolen}`
}

function columns({ coldSeconds, warmSeconds, packetHops, residentBytes }: SimFigures): string[] {
  const speed = (seconds: number) => `${(packetHops / seconds / 1000).toFixed(0)} k`
  return [
    coldSeconds.toFixed(2),
    warmSeconds.toFixed(2),
    speed(coldSeconds),
    speed(warmSeconds),
    `${(residentBytes / 1e6).toFixed(0)} MB`,
  ]
}
