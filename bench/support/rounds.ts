/**
 * Runs candidates in alternating rounds: medians, spread, ratios. It repeats rounds in which others used the
 * CPU.
 */
import { median } from '../../lib/scenario/result/fairness.js'
import { stealSince, stealTicks } from '../steal.js'

const STEAL_MAX = 0.05
/** Repeated rounds in a whole benchmark. */
const REPEATS_MAX = 3

/** Result of one candidate in one round. */
export interface Measured {
  /** The compared value: bit/s or ns. */
  value: number
  /** CPU time per unit of work of both ends, if known. */
  cpu?: { client: number; server: number }
}

export interface Candidate {
  name: string
  measure(): Promise<Measured>
}

export interface Figure {
  name: string
  median: number
  min: number
  max: number
  /** Median over the rounds of this value relative to the baseline's. */
  ratio: number
  cpu: { client: number; server: number } | null
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
  const taken: Map<string, Measured>[] = []
  let repeated = 0
  let stealShare = 0
  while (taken.length < rounds) {
    const steal = stealTicks()
    const round = new Map<string, Measured>()
    for (const candidate of candidates) {
      say(`round ${taken.length + 1} of ${rounds}: ${candidate.name}`)
      round.set(candidate.name, await candidate.measure())
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
  const figures = candidates.map(({ name }) => figureOf(name, taken, baseline))
  return { figures, stealShare, repeated }
}

function figureOf(name: string, rounds: readonly Map<string, Measured>[], baseline: string): Figure {
  const own = rounds.map(round => round.get(name)!)
  const values = own.map(({ value }) => value)
  const ratios = rounds.map((round, i) => values[i]! / (round.get(baseline)?.value ?? Number.NaN))
  const cpus = own.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]))
  return {
    name,
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    ratio: median(ratios),
    cpu:
      cpus.length === 0
        ? null
        : { client: median(cpus.map(cpu => cpu.client)), server: median(cpus.map(cpu => cpu.server)) },
  }
}
