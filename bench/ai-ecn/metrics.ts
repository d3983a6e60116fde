/** What a run with AI ECN, or with static thresholds instead, is judged by. Of each figure less is better. */
import type { FlowResult, RunResult } from '../../lib/scenario/result/result.js'

export const KINDS = ['mice', 'elephants', 'incast'] as const
export type Kind = (typeof KINDS)[number]

/** Name of the flows that a kind of traffic is judged by, up to its digits. */
const FLOWS: Readonly<Record<Kind, string>> = { mice: 'mouse', elephants: 'elephant', incast: 'burst' }

/**
 * Returns the figure of a kind of traffic in a run, ns:
 *
 *     mice        99th percentile of their completion times
 *     elephants   time to the end of the last, which is their bytes / goodput
 *     incast      time to the end of the last flow of each, on average
 *
 * Infinite if one of the flows has not finished.
 */
export function figureOf(kind: Kind, { flows }: Pick<RunResult, 'flows'>): number {
  const own = flows.filter(({ name }) => name.startsWith(FLOWS[kind]))
  if (own.length === 0 || own.some(({ fctNs }) => fctNs === null)) return Number.POSITIVE_INFINITY
  if (kind === 'mice')
    return percentile(
      own.map(({ fctNs }) => fctNs!),
      0.99,
    )
  const rounds = new Map<number, number>()
  for (const { startNs, fctNs } of own) rounds.set(startNs, Math.max(rounds.get(startNs) ?? 0, fctNs!))
  return mean([...rounds.values()])
}

/** PFC frames by which switches paused their peers. */
export function pausesOf({ ports }: Pick<RunResult, 'ports'>): number {
  return ports.reduce((sum, { pausesSent }) => sum + pausesSent, 0)
}

/** Goodput of the elephants of a run, all together, bit/s. */
export function goodputBps({ flows }: { flows: readonly FlowResult[] }): number {
  const bytes = flows
    .filter(({ name }) => name.startsWith(FLOWS.elephants))
    .reduce((sum, flow) => sum + flow.bytes, 0)
  return (bytes * 8e9) / figureOf('elephants', { flows: [...flows] })
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(mean(values.map(value => Math.log(value))))
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}
