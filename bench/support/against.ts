/**
 * Compares a benchmark that is all of a process with that of another checkout. Each checkout measures by its own code, because
 * its objects are not this checkout's. The processes alternate.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { median } from '../../lib/scenario/result/fairness.js'
import { type Checkout, checkouts } from './checkouts.js'
import { alternate } from './rounds.js'
import { table } from './table.js'
import { wholeNumber } from './whole-number.js'

const ROUNDS = '3'
const OUTPUT_BYTES_MAX = 64 << 20

const execute = promisify(execFile)

/** A figure of a benchmark's result. */
export interface NamedFigure {
  name: string
  value: number
}

interface Compared {
  name: string
  /** Medians over the rounds. */
  here: number
  other: number
  /** Median, least and greatest over the rounds of this checkout's value by the other's. */
  ratio: number
  ratioMin: number
  ratioMax: number
}

interface AgainstResult {
  benchmark: string
  against: string
  rounds: number
  stealShare: number
  repeated: number
  figures: Compared[]
}

/** Options that are about the comparison. All other arguments are the benchmark's. */
const OPTIONS = {
  against: { type: 'string' },
  rounds: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** Returns true if a benchmark is to be compared with another checkout. */
export function isCompared(args: readonly string[]): boolean {
  return parsed(args).values.against !== undefined
}

/**
 * @param comparedFigures figures of a result that both checkouts have
 * @param args of the benchmark, and `--against DIR`, `--rounds 3`
 * @param runOf runs the benchmark of a checkout
 */
export async function compareRuns(
  benchmark: string,
  comparedFigures: (result: never) => NamedFigure[],
  args: readonly string[],
  runOf = runIn,
): Promise<AgainstResult> {
  const { values, rest } = parsed(args)
  const rounds = wholeNumber('--rounds', values.rounds ?? ROUNDS)
  const both = checkouts(values.against)
  const subjects = both.map(checkout => ({
    name: checkout.name,
    measure: async () => comparedFigures((await runOf(checkout, benchmark, rest)) as never),
  }))
  const taken = await alternate(subjects, rounds)
  const result: AgainstResult = {
    benchmark,
    against: both[1]!.folder,
    rounds,
    stealShare: taken.stealShare,
    repeated: taken.repeated,
    figures: compared(taken.rounds),
  }
  if (!values.json) process.stdout.write(printed(result))
  return result
}

function parsed(args: readonly string[]) {
  const { values, tokens } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true })
  const own = new Set<number>()
  for (const token of tokens) {
    if (token.kind !== 'option' || !Object.hasOwn(OPTIONS, token.name)) continue
    own.add(token.index)
    if (token.value !== undefined && !token.inlineValue) own.add(token.index + 1)
  }
  return {
    values: values as { against?: string; rounds?: string; json?: boolean },
    rest: args.filter((_, i) => !own.has(i)),
  }
}

/** Runs the benchmark of a checkout in a process of its own. Returns its result. */
export async function runIn(
  { folder }: Checkout,
  benchmark: string,
  args: readonly string[],
): Promise<unknown> {
  const program = fileURLToPath(new URL('./run-benchmark.js', import.meta.url))
  const { stdout } = await execute(process.execPath, [program, folder, benchmark, ...args], {
    maxBuffer: OUTPUT_BYTES_MAX,
  })
  return JSON.parse(stdout)
}

/** Figures that only one of the two has are left out. */
function compared(rounds: readonly NamedFigure[][][]): Compared[] {
  const valuesOf = (checkout: 0 | 1, name: string) =>
    rounds.map(round => round[checkout]!.find(figure => figure.name === name)?.value ?? Number.NaN)
  return rounds[0]![0]!.flatMap(({ name }) => {
    const [here, other] = [valuesOf(0, name), valuesOf(1, name)]
    const ratios = here.map((value, round) => value / other[round]!)
    if (ratios.some(Number.isNaN)) return []
    return [
      {
        name,
        here: median(here),
        other: median(other),
        ratio: median(ratios),
        ratioMin: Math.min(...ratios),
        ratioMax: Math.max(...ratios),
      },
    ]
  })
}

function printed({ benchmark, against, rounds, stealShare, figures }: AgainstResult): string {
  const rows = figures.map(({ name, here, other, ratio, ratioMin, ratioMax }) => [
    name,
    digits(here),
    digits(other),
    ratio.toFixed(2),
    `${ratioMin.toFixed(2)} to ${ratioMax.toFixed(2)}`,
  ])
  const head = `${benchmark} beside ${against}: medians of ${rounds} rounds; steal at most ${(100 * stealShare).toFixed(1)} %`
  return `${head}\n${table(['what', 'here', 'other', 'ratio', 'least to most'], rows, 1)}\n`
}

function digits(value: number): string {
  return Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0)
}
