/** Randomised tests: each run prints its seed, and `SEED=… node x.test.js` repeats it. */
import fc from 'fast-check'
import type { Test } from 'tap'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 0x7fff_ffff))

/** Checks that `holds` throws for none of `runs` values of `arbitrary`. */
export function property<T>(
  t: Test,
  name: string,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => void,
  runs = 200,
): void {
  t.comment(`${name}: SEED=${seed}`)
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
