/**
 * Speed of the virtual network: packets x hops per CPU-second. A packet x hop is one frame, data or acknowledgement,
 * sent by one switch port: what an event-driven simulator calls a switch enqueue. CPU time is the process's, so
 * that other work on the machine counts less than it does in wall time.
 *
 * Each round of each case is a process of its own. Its first run is cold: the compiler works meanwhile. The last one is warm.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { median } from '../lib/scenario/result/fairness.js'
import { type SimCase, simCases } from './sim/cases.js'
import type { SimRun } from './sim/run-case.js'
import { type Checkout, checkouts } from './support/checkouts.js'
import { alternate } from './support/rounds.js'
import { table } from './support/table.js'
import { wholeNumber } from './support/whole-number.js'

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
  /** Largest share of the CPU that others used in a counted round. */
  stealShare: number
  /** The other checkout, if there is one. */
  other?: SimFigures
  /** Median over the rounds of the other's time by this one's: above 1, this one is faster. */
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
  const rounds = wholeNumber('--rounds', values.rounds, 1, 100)
  const both = checkouts(values.against)
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-sim-'))
  try {
    const compared: SimComparison[] = []
    for (const one of simCases(positionals)) compared.push(await compare(one, both, rounds, folder))
    if (!values.json) process.stdout.write(printed(compared))
    return compared
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Alternates the checkouts. */
async function compare(
  { name, text, runs }: SimCase,
  both: readonly Checkout[],
  rounds: number,
  folder: string,
): Promise<SimComparison> {
  const file = join(folder, 'scenario.yaml')
  writeFileSync(file, text)
  const subjects = both.map(checkout => ({ name: checkout.name, measure: () => runIn(checkout, file, runs) }))
  const taken = await alternate(subjects, rounds)
  const runsOf = (checkout: 0 | 1) => taken.rounds.map(round => round[checkout]!)
  const one = { name, here: figuresOf(runsOf(0)), stealShare: taken.stealShare }
  if (both.length === 1) return one
  const ratio = (seconds: (runs: readonly SimRun[]) => number) =>
    median(taken.rounds.map(([here, other]) => seconds(other!) / seconds(here!)))
  return { ...one, other: figuresOf(runsOf(1)), coldRatio: ratio(coldSeconds), warmRatio: ratio(warmSeconds) }
}

async function runIn({ folder }: Checkout, file: string, runs: number): Promise<SimRun[]> {
  const program = fileURLToPath(new URL('./sim/run-case.js', import.meta.url))
  const { stdout } = await execute(process.execPath, [program, folder, file, String(runs)])
  return JSON.parse(stdout)
}

function coldSeconds(runs: readonly SimRun[]): number {
  return runs[0]!.cpuSeconds
}

function warmSeconds(runs: readonly SimRun[]): number {
  return runs.at(-1)!.cpuSeconds
}

function figuresOf(rounds: readonly SimRun[][]): SimFigures {
  const { packetHops, events } = rounds[0]![0]!
  return {
    coldSeconds: median(rounds.map(coldSeconds)),
    warmSeconds: median(rounds.map(warmSeconds)),
    packetHops,
    events,
    residentBytes: median(rounds.map(runs => runs[0]!.residentBytesMax)),
  }
}

function printed(compared: readonly SimComparison[]): string {
  const rows = compared.map(({ name, here, other, coldRatio, warmRatio }) => [
    name,
    `${(here.packetHops / 1000).toFixed(0)} k`,
    ...columns(here),
    ...(other === undefined ? [] : [...columns(other), coldRatio!.toFixed(2), warmRatio!.toFixed(2)]),
  ])
  const own = ['cold CPU-s', 'warm', 'hops/s cold', 'warm', 'memory']
  const others =
    compared[0]?.other === undefined ? [] : [...own.map(name => `other's ${name}`), 'x cold', 'x warm']
  const steal = Math.max(...compared.map(({ stealShare }) => stealShare))
  return `${table(['case', 'packets x hops', ...own, ...others], rows, 1)}\nsteal at most ${(100 * steal).toFixed(1)} %\n`
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
