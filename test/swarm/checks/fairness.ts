/** Checks that flows that share everything have similar shares: the same path, controller and time. */
import { jainIndex } from '../../../lib/scenario/result/fairness.js'
import type { Fail } from './fail.js'

/** @param moved bytes of each flow in the same span of time; @param least the lowest Jain index that passes, 1/n to 1 */
export function checkFairness(moved: readonly number[], least: number, fail: Fail): void {
  const index = jainIndex(moved)
  if (!(index >= least))
    fail(`Jain's index is ${index.toFixed(3)}, below ${least}: ${moved.join(', ')} bytes`)
}
