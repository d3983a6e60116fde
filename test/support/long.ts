/**
 * Tests of a file that run at two times: the usual ones in `npm test`, the long ones in `npm run test:long`.
 * For this NAME.long.test.ts beside NAME.test.ts has one line, which imports it.
 */
import t, { type Test } from 'tap'
import { drawnPart } from './seeds.js'

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

const share = Number(process.env.WEIR_LONG_SHARE ?? 1)
if (!Number.isInteger(share) || share < 1)
  throw new Error(
    `WEIR_LONG_SHARE=${process.env.WEIR_LONG_SHARE}: a whole number from 1 on, such as 3 for a third`,
  )

/** True where long lists are run whole, so that a test may claim what they reach. */
export const isWhole = share === 1

/**
 * What of a long list is run. With `WEIR_LONG_SHARE=3` a third of it, one at least, drawn by a seed that is printed; else all.
 */
export function drawnShare<T>(t: Pick<Test, 'comment'>, all: readonly T[]): readonly T[] {
  return isWhole ? all : drawnPart(t, all, share)
}
