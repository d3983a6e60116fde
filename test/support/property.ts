/** Randomised tests: each run prints its seed, and `SEED=… node x.test.js` repeats it. */
import fc from 'fast-check'
import type { Test } from 'tap'
import { drawnSeed } from './seeds.js'

/** Checks that `holds` throws for none of `runs` values of `arbitrary`, drawn by a seed. */
export function property<T>(
  t: Test,
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => void,
  runs = 200,
  seed = drawnSeed(t),
): void {
  const check = fc.property(arbitrary, value => {
    holds(value)
  })
  const result = fc.check(check, { seed, numRuns: runs })
  t.notOk(result.failed, `${name} (SEED=${seed})`, {
    counterexample: fc.stringify(result.counterexample),
    error: String(result.errorInstance ?? ''),
  })
}

export { fc }
