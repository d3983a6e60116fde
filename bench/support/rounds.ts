/**
 * Runs candidates in alternating rounds: medians, spread, ratios. It repeats rounds in which others used the
 * CPU.
 */
import { median } from '../../lib/scenario/result/fairness.js'
import { stealSince, stealTicks } from '../steal.js'

const STEAL_MAX = 0.05
/** Repeated rounds in a whole benchmark. */
const REPEATS_MAX = 3

/** Something that is measured once in each round. */
interface Subject<T> {
  name: string
  measure(): Promise<T>
}

/** What all subjects gave, round by round, in their order. */
interface Alternated<T> {
  rounds: T[][]
  /** Largest share of the CPU that others used in a counted round. */
  stealShare: number
  repeated: number
}

/**
 * Measures all subjects in turn, round by round, so that a slow moment of the machine affects all of them.
 *
 * @param say gets the progress
 */
export async function alternate<T>(
  subjects: readonly Subject<T>[],
  rounds: number,
  say: (text: string) => void = () => {},
): Promise<Alternated<T>> {
  const taken: T[][] = []
  let repeated = 0
  let stealShare = 0
  while (taken.length < rounds) {
    const steal = stealTicks()
    const round: T[] = []
    for (const subject of subjects) {
      say(`round ${taken.length + 1} of ${rounds}: ${subject.name}`)
      round.push(await subject.measure())
    }
    const share = stealSince(steal) ?? 0
    if (share > STEAL_MAX && repeated < REPEATS_MAX) {
      repeated++
      say(`${(100 * share).toFixed(1)} % of the CPU was taken by others: again`)
      continue
    }
    stealShare = Math.max(stealShare, share)
    taken.push(round)
  }
  return { rounds: taken, stealShare, repeated }
}

/** CPU time per unit of work of both ends. */
interface Cpu {
  client: number
  server: number
}

/** Result of one candidate in one round. */
export interface Measured {
  /** The compared value: bit/s or ns. */
  value: number
  /** If known. */
  cpu?: Cpu
}

export interface Candidate extends Subject<Measured> {
  /** Name of the same candidate of another checkout. */
  other?: string
}

export interface Figure {
  name: string
  median: number
  min: number
  max: number
  /** Median over the rounds of this value relative to the baseline's. */
  ratio: number
  cpu: Cpu | null
  /** Medians over the rounds of value and CPU time relative to the other checkout's. */
  byOther?: { ratio: number; cpu: Cpu | null }
}

export interface Rounds {
  figures: Figure[]
  /** Largest share of the CPU that others used in a counted round. */
  stealShare: number
  repeated: number
}

/**
 * @param baseline name of the candidate that the others are compared with
 * @param say gets the progress
 */
export async function inRounds(
  candidates: readonly Candidate[],
  rounds: number,
  baseline: string,
  say: (text: string) => void = () => {},
): Promise<Rounds> {
  const { rounds: taken, stealShare, repeated } = await alternate(candidates, rounds, say)
  const of = (name: string | undefined) => {
    const i = candidates.findIndex(candidate => candidate.name === name)
    return i < 0 ? null : taken.map(round => round[i]!)
  }
  const figures = candidates.map(({ name, other }) => figureOf(name, of(name)!, of(baseline), of(other)))
  return { figures, stealShare, repeated }
}

function figureOf(
  name: string,
  own: readonly Measured[],
  baseline: readonly Measured[] | null,
  other: readonly Measured[] | null,
): Figure {
  const values = own.map(({ value }) => value)
  return {
    name,
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    ratio: baseline === null ? Number.NaN : ratioOf(own, baseline),
    cpu: cpuOf(own),
    ...(other !== null && { byOther: { ratio: ratioOf(own, other), cpu: cpuOf(own, other) } }),
  }
}

function ratioOf(own: readonly Measured[], by: readonly Measured[]): number {
  return median(own.map(({ value }, round) => value / by[round]!.value))
}

/** Median of the CPU time of each end, or of its ratios to another candidate's. Null where it is not known. */
function cpuOf(own: readonly Measured[], by?: readonly Measured[]): Cpu | null {
  const cpus = own.flatMap(({ cpu }, round) => {
    const other = by === undefined ? { client: 1, server: 1 } : by[round]!.cpu
    if (cpu === undefined || other === undefined) return []
    return [{ client: cpu.client / other.client, server: cpu.server / other.server }]
  })
  if (cpus.length === 0) return null
  return { client: median(cpus.map(cpu => cpu.client)), server: median(cpus.map(cpu => cpu.server)) }
}
