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
  take({ qp: { counters } }: Flow): void {
    if (!hasDropped(counters)) return
    for (const [i, reason] of REASONS.entries()) this.#ended[i]! += counters[reason]
  }

  /** Since the start, with those of the flows that are there. */
  sum(flows: readonly (Flow | null)[]): Record<QpDropReason, number> {
    const sums = [...this.#ended]
    for (const flow of flows)
      for (const [i, reason] of REASONS.entries()) sums[i]! += flow?.qp?.counters[reason] ?? 0
    return Object.fromEntries(REASONS.map((reason, i) => [reason, sums[i]!])) as Record<QpDropReason, number>
  }
}

/** Most have not: to look a counter up by its name takes longer than all of this. */
function hasDropped(counters: QpCounters): boolean {
  return (
    counters.droppedState > 0 ||
    counters.droppedVersion > 0 ||
    counters.droppedPartition > 0 ||
    counters.droppedOpcode > 0 ||
    counters.droppedGhost > 0 ||
    counters.droppedResponseOrder > 0 ||
    counters.droppedSack > 0 ||
    counters.droppedBeyondWindow > 0 ||
    counters.droppedReorder > 0 ||
    counters.droppedReplay > 0 ||
    counters.refusedAccess > 0
  )
}
