import type { Nanos } from '../../../lib/time/nanos.js'
import type { Thresholds } from '../marking/wred.js'

/**
 * Why thresholds changed: a model was recognised, the tuner tried a step, the tuner went back from one, the room below PFC's threshold
 * has changed, the traffic was over, or the switch has restarted.
 */
export type DecisionReason = 'model' | 'try' | 'back' | 'room' | 'early' | 'restart'

export interface Decision {
  /** From the start of the window. */
  atNs: Nanos
  priority: number
  why: DecisionReason
  /** The model in force. Null: the traffic is unknown. */
  model: string | null
  before: Thresholds
  after: Thresholds
  /** That of the period which has just ended, 0 to 1. */
  utility: number
}

/** Decisions of a port that are kept. Later ones are only counted. */
const DECISIONS_MAX = 1_000

/** Decisions about the queues of one port since the window began: all counted, the first ones listed. */
export class DecisionLog {
  readonly #list: Decision[] = []
  readonly #counts: Record<DecisionReason, number> = {
    model: 0,
    try: 0,
    back: 0,
    room: 0,
    early: 0,
    restart: 0,
  }

  get list(): readonly Decision[] {
    return this.#list
  }

  get counts(): Readonly<Record<DecisionReason, number>> {
    return this.#counts
  }

  get total(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0)
  }

  add(decision: Decision): void {
    this.#counts[decision.why]++
    if (this.#list.length < DECISIONS_MAX) this.#list.push(decision)
  }

  reset(): void {
    this.#list.length = 0
    for (const why of Object.keys(this.#counts) as DecisionReason[]) this.#counts[why] = 0
  }
}
