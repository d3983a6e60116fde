import { assert, WeirError } from '../../../lib/errors.js'
import type { EgressQueue } from './egress-queue.js'
import { PRIORITIES } from './shared-buffer.js'

/**
 * Bytes that the queue of the smallest weight may send in one round: a jumbo frame, so that a round always
 * sends something. The others send in proportion. Rounds are as short as possible, because the time in which
 * a packet waits for other queues is part of its sojourn time and grows with the round.
 */
export const QUANTUM_BYTES = 9_216

/**
 * Decides which priority sends next. Queues of weight 0 are strict: the highest number first, before all
 * others. The rest share the remaining rate in proportion to their weights by deficit round robin (Shreedhar
 * and Varghese, 1995).
 *
 * The caller says which queues may send (bit p = priority p), and leaves out paused priorities.
 */
export class QueueScheduler {
  readonly #strictMask: number
  readonly #quantumBytes = new Int32Array(PRIORITIES)
  readonly #deficitBytes = new Int32Array(PRIORITIES)
  /** The queue whose turn it is, and whether it has got this turn's quantum. */
  #turn = PRIORITIES - 1
  #granted = false

  /** @param weights of priorities 0 to 7, each 0 (strict) or 1 to 100. Default: all strict */
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

  /** Returns the priority to serve. `eligible` has at least one queue, else WEIR_INTERNAL, and no empty one. */
  pick(eligible: number, queues: readonly EgressQueue[]): number {
    assert(eligible !== 0, 'a port was to send, and none of its queues may')
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

  /** `bytes` of `priority` were sent. `empty`: its queue has no more frames. */
  onSent(priority: number, bytes: number, empty: boolean): void {
    if (((this.#strictMask >> priority) & 1) === 1) return
    if (!empty) {
      this.#deficitBytes[priority]! -= bytes
      return
    }
    // A queue without frames accumulates no quantum.
    this.#deficitBytes[priority] = 0
    if (this.#turn === priority) this.#nextTurn()
  }

  /** A frame of `priority` was sent, and no queue had others: as `pick` and `onSent`. */
  onPassed(priority: number): void {
    if (((this.#strictMask >> priority) & 1) === 1) return
    this.#deficitBytes[priority] = 0
    this.#turn = priority
    this.#nextTurn()
  }

  #nextTurn(): void {
    this.#turn = (this.#turn + PRIORITIES - 1) % PRIORITIES
    this.#granted = false
  }
}
