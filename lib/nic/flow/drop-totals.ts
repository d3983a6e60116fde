import type { QpCounters } from '../../qp/context/counters.js'
import type { Flow } from './flow.js'

/** Why queue pairs drop packets without an answer, or refuse a request for memory. */
const REASONS = [
  'droppedState',
  'droppedVersion',
  'droppedPartition',
  'droppedOpcode',
  'droppedGhost',
  'droppedResponseOrder',
  'droppedSack',
  'droppedBeyondWindow',
  'droppedReorder',
  'droppedReplay',
  'refusedAccess',
] as const satisfies readonly (keyof QpCounters)[]
type QpDropReason = (typeof REASONS)[number]

/** What all queue pairs of a NIC have dropped: a queue pair's counters end with it. */
export class DropTotals {
  readonly #ended = new Array<number>(REASONS.length).fill(0)

  /** The flow's queue pair is about to go. */
  take({ qp }: Flow): void {
    for (let i = 0; i < REASONS.length; i++) this.#ended[i]! += qp?.counters[REASONS[i]!] ?? 0
  }

  /** Since the start, with those of the flows that are there. */
  sum(flows: readonly (Flow | null)[]): Record<QpDropReason, number> {
    const sums = [...this.#ended]
    for (const flow of flows)
      for (const [i, reason] of REASONS.entries()) sums[i]! += flow?.qp?.counters[reason] ?? 0
    return Object.fromEntries(REASONS.map((reason, i) => [reason, sums[i]!])) as Record<QpDropReason, number>
  }
}
