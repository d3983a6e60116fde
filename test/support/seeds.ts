/**
 * Seeds of randomised tests. Over fixed seeds a test may claim what its input reaches. A drawn seed looks for
 * faults, and such a claim would fail with an unlucky one. SEED=n in the environment replays n in place of
 * either.
 */
import type { Test } from 'tap'
import { Random } from '../../lib/sim/random.js'

const replayed = process.env.SEED === undefined ? null : Number(process.env.SEED)

/** True where SEED replays one seed: nothing is claimed about what it reaches. */
export const isReplay = replayed !== null

export function fixedSeeds(seeds: readonly number[]): readonly number[] {
  return replayed === null ? seeds : [replayed]
}

/** The same for one seed, which is printed. */
export function fixedSeed(t: Pick<Test, 'comment'>, seed: number): number {
  return printed(t, replayed ?? seed)
}

/** Another seed each time, which is printed. */
export function drawnSeed(t: Pick<Test, 'comment'>): number {
  return printed(t, replayed ?? Math.floor(Math.random() * 2 ** 31))
}

/** One in `share` of a list, one at least, drawn by a seed that is printed. */
export function drawnPart<T>(t: Pick<Test, 'comment'>, all: readonly T[], share: number): readonly T[] {
  const random = new Random(drawnSeed(t))
  const least = random.below(all.length)
  const drawn = all.filter((_, i) => i === least || random.next() < 1 / share)
  t.comment(`${drawn.length} of ${all.length}: one in ${share}`)
  return drawn
}

function printed(t: Pick<Test, 'comment'>, seed: number): number {
  t.comment(`SEED=${seed}`)
  return seed
}
