/**
 * Tests of a file that run at two times: the usual ones in `npm test`, the long ones in `npm run test:long`.
 * For this NAME.long.test.ts beside NAME.test.ts has one line, which imports it.
 */
import t from 'tap'

export const isLong = process.argv[1]?.endsWith('.long.test.js') === true

const leftOut = (() => {}) as unknown as typeof t.test

/** Like `t.test`, but only in `npm test`. */
export const usual: typeof t.test = isLong ? leftOut : t.test.bind(t)

/** Like `t.test`, but only in `npm run test:long`: a variant of what a usual test shows. */
export const long: typeof t.test = isLong ? t.test.bind(t) : leftOut

/** The first `count` variants of a rule in `npm test`, the others in `npm run test:long`. */
export function variants<T>(all: readonly T[], count: number): readonly T[] {
  return isLong ? all.slice(count) : all.slice(0, count)
}
