/** Nanoseconds of CPU time that an operation takes, by loops of it: other work on the machine counts less than in wall time. */
import { median } from '../../lib/scenario/fairness.js'

const ROUNDS = 7
const ROUND_MS = 60

export interface Operation {
  name: string
  /** Carries it out `count` times. */
  run(count: number): void
}

export interface OperationTime {
  name: string
  /** Of one operation: the median of the rounds, and the best of them. */
  ns: number
  bestNs: number
}

/** All operations in turn, round by round, so that a slow moment of the machine meets all of them. */
export function timeOperations(operations: readonly Operation[]): OperationTime[] {
  const counts = operations.map(countFor)
  const times = operations.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, operation] of operations.entries()) {
      const began = cpuMs()
      operation.run(counts[i]!)
      times[i]!.push(((cpuMs() - began) * 1e6) / counts[i]!)
    }
  }
  return operations.map(({ name }, i) => ({ name, ns: median(times[i]!), bestNs: Math.min(...times[i]!) }))
}

/** How many take a round's time; V8 has compiled it by then. */
function countFor(operation: Operation): number {
  for (let count = 64; ; count *= 2) {
    const began = cpuMs()
    operation.run(count)
    const ms = cpuMs() - began
    if (ms > ROUND_MS / 4) return Math.max(1, Math.round((count * ROUND_MS) / ms))
  }
}

export function printTimes(times: readonly OperationTime[]): string {
  const width = Math.max(...times.map(({ name }) => name.length))
  const digits = (ns: number) => ns.toFixed(ns < 100 ? 1 : 0).padStart(8)
  const lines = times.map(
    ({ name, ns, bestNs }) => `  ${name.padEnd(width)} ${digits(ns)} ns  (best ${digits(bestNs).trim()})`,
  )
  return `${lines.join('\n')}\n`
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
