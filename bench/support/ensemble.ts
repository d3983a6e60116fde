/** Judges a controller over an ensemble of jittered starts: the mean of each figure, and the worst. */
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { jitteredStarts } from './jittered-starts.js'
import { type Judgement, judge } from './judge.js'

/** Returns one judgement for each start, in virtual time. */
export function ensemble(scenario: Scenario, starts: number, seed: number): Judgement[] {
  return jitteredStarts(scenario, starts, seed).map(one => judge(one, new VirtualRun(one).run()))
}

/** Returns the mean of each figure; null if a run has none. */
export function meanOf(all: readonly Judgement[]): Judgement {
  return each(all, values => values.reduce((sum, value) => sum + value, 0) / values.length)
}

/**
 * Returns the least utilization and Jain's index, and the greatest of all other figures; null if a run has
 * none.
 */
export function worstOf(all: readonly Judgement[]): Judgement {
  return each(all, (values, name) =>
    name === 'utilization' || name === 'jainIndex' ? Math.min(...values) : Math.max(...values),
  )
}

function each(
  all: readonly Judgement[],
  fold: (values: number[], name: keyof Judgement) => number,
): Judgement {
  const folded = { ...all[0]! } as Record<keyof Judgement, number | null>
  for (const name of Object.keys(folded) as (keyof Judgement)[]) {
    const values = all.map(one => one[name])
    folded[name] = values.every(value => value !== null) ? fold(values, name) : null
  }
  return folded as Judgement
}
