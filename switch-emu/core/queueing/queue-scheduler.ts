import { WeirError } from '../../../lib/errors.js'
import type { EgressQueue } from './egress-queue.js'
import { PRIORITIES } from './shared-buffer.js'

/**
 * Bytes that the queue of the smallest weight may send in one round: a jumbo frame, so that a round always sends something.
 * The others send in proportion, so rounds are as short as they may be: how long a packet waits for the turns of others
 * is in its sojourn time, and grows with the round.
 */
export const QUANTUM_BYTES = 9_216

/**
 * Which priority sends next. Queues of weight 0 are strict: the highest number first, before all others.
 * The rest share what is left in proportion to their weights by deficit round robin (Shreedhar and
 * Varghese, 1995).
 *
 * The caller says which queues may send (bit p = priority p), so that a paused priority is simply left out.
 */
export class QueueScheduler {
  readonly #strictMask: number
  readonly #quantumBytes = new Int32Array(PRIORITIES)
  readonly #deficitBytes = new Int32Array(PRIORITIES)
  /** The queue whose turn it is, and whether it has had this turn's quantum. */
  #turn = PRIORITIES - 1
  #granted = false

  /** @param weights of priorities 0 to 7, each 0 (strict) or 1 to 100; all strict when absent */
  constructor(weights: readonly number[] = new Array<number>(PRIORITIES).fill(0)) {
    if (weights.length !== PRIORITIES || weights.some(w => !Number.isInteger(w) || w < 0 || w > 100)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `scheduler: weights are ${PRIORITIES} whole numbers from 0 (strict) to 100, not [${weights.join(', ')}]`,
      )
    }
    const least = Math.min(...weights.filter(weight => weight > 0))
    let strictMask = 0
    for (let p = 0; p < PRIORITIES; p++) {
      if (weights[p] === 0) strictMask |= 1 << p
      else this.#quantumBytes[p] = Math.round((weights[p]! / least) * QUANTUM_BYTES)
    }
    this.#strictMask = strictMask
  }

  /** The priority to serve; `eligible` names at least one queue, and none that is empty. */
  pick(eligible: number, queues: readonly EgressQueue[]): number {
    const strict = eligible & this.#strictMask
    if (strict !== 0) return 31 - Math.clz32(strict)
    for (;;) {
      const p = this.#turn
      if (((eligible >> p) & 1) === 1) {
        if (!this.#granted) {
          this.#deficitBytes[p]! += this.#quantumBytes[p]!
          this.#granted = true
        }
        if (queues[p]!.headBytes() <= this.#deficitBytes[p]!) return p
      }
      this.#nextTurn()
    }
  }

  /** `bytes` of `priority` were sent; `empty`: its queue has nothing more. */
  onSent(priority: number, bytes: number, empty: boolean): void {
    if (((this.#strictMask >> priority) & 1) === 1) return
    if (!empty) {
      this.#deficitBytes[priority]! -= bytes
      return
    }
    // A queue without frames saves up no quantum.
    this.#deficitBytes[priority] = 0
    if (this.#turn === priority) this.#nextTurn()
  }

  #nextTurn(): void {
    this.#turn = (this.#turn + PRIORITIES - 1) % PRIORITIES
    this.#granted = false
  }
}
