/**
 * Measures the CPU time of an operation in nanoseconds, by loops. Other work on the machine affects it less
 * than wall time.
 */
import { median } from '../../lib/scenario/result/fairness.js'

const ROUNDS = 7
const TRIES = 3

/** CPU time of each operation in a round, ms. Shorter rounds are too inexact. */
export const ROUND_MS = 60

export interface Operation {
  name: string
  /** Performs the operation `count` times. */
  run(count: number): void
}

export interface OperationTime {
  name: string
  /** Time of one operation: the median and the best of the rounds. */
  ns: number
  bestNs: number
}

/**
 * Measures all operations in turn, round by round, so that a slow moment of the machine affects all of them.
 */
export function timeOperations(operations: readonly Operation[], roundMs = ROUND_MS): OperationTime[] {
  const counts = operations.map(operation => countFor(operation, roundMs))
  const times = operations.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, operation] of operations.entries()) {
      times[i]!.push((cpuMsOf(operation, counts[i]!) * 1e6) / counts[i]!)
    }
  }
  return operations.map(({ name }, i) => ({ name, ns: median(times[i]!), bestNs: Math.min(...times[i]!) }))
}

/**
 * Returns how many operations take the time of a round once V8 has compiled the operation. Compiling takes
 * CPU time too, so it measures again.
 */
function countFor(operation: Operation, roundMs: number): number {
  let count = 64
  let ms = cpuMsOf(operation, count)
  for (; ms < roundMs; ms = cpuMsOf(operation, count)) count *= 2
  for (let tries = 0; tries < TRIES; tries++) {
    count = Math.max(1, Math.round((count * roundMs) / ms))
    ms = cpuMsOf(operation, count)
  }
  return count
}

export function printTimes(times: readonly OperationTime[]): string {
  const width = Math.max(...times.map(({ name }) => name.length))
  const digits = (ns: number) => ns.toFixed(ns < 100 ? 1 : 0).padStart(8)
  const lines = times.map(
    ({ name, ns, bestNs }) => `  ${name.padEnd(width)} ${digits(ns)} ns  (best ${digits(bestNs).trim()})`,
  )
  return `${lines.join('\n')}\n`
}

function cpuMsOf(operation: Operation, count: number): number {
  const before = process.cpuUsage()
  operation.run(count)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
