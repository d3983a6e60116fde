/** Which of a connection's paths is the better one. Paths are those of PathProbes; indices into their list. */
import type { ProbedPath } from '../telemetry/path-probes.js'

/**
 * Utilizations that differ by no more count as equal. Among equal paths chance decides, or all flows would choose
 * alike.
 */
const EQUAL = 0.02

/** The utilization of the least used path; NaN if none has been measured. */
export function leastUtilization(paths: readonly ProbedPath[]): number {
  let least = Number.NaN
  for (const { isMeasured, load } of paths) {
    if (isMeasured && !(load.utilization >= least)) least = load.utilization
  }
  return least
}

/** The least used path for a flow that sends nothing yet, or -1: none has been measured. @param random 32-bit whole numbers */
export function leastUsed(paths: readonly ProbedPath[], random: () => number): number {
  const least = leastUtilization(paths)
  return drawn(paths, path => path.isMeasured && path.load.utilization <= least + EQUAL, random)
}

/**
 * A path that others use less, by more than `margin`, than others use the flow's own path; -1 if there is none. What
 * the flow itself sends is left out: HPCC++ fills any path, so a flow that is alone on its path can gain nothing.
 *
 * @param ownBps rate at which the flow sends, bit/s
 */
export function betterPath(
  paths: readonly ProbedPath[],
  current: number,
  ownBps: number,
  margin: number,
  random: () => number,
): number {
  const own = paths[current]!
  if (!own.isMeasured && !own.isDead) return -1
  const used = (path: ProbedPath) => path.load.usedByOthers(own.load, ownBps)
  let least = own.isDead ? Number.POSITIVE_INFINITY : used(own) - margin
  let found = false
  for (const path of paths) {
    if (path === own || !path.isMeasured || !(used(path) < least)) continue
    least = used(path)
    found = true
  }
  if (!found) return -1
  return drawn(paths, path => path !== own && path.isMeasured && used(path) <= least + EQUAL, random)
}

function drawn(
  paths: readonly ProbedPath[],
  isGood: (path: ProbedPath) => boolean,
  random: () => number,
): number {
  const good = paths.flatMap((path, index) => (isGood(path) ? [index] : []))
  return good.length === 0 ? -1 : good[random() % good.length]!
}
