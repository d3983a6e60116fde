import type { QueueFeatures } from './queue-features.js'

/** How the senders of a queue hear of its marks: by acknowledgements, each of which counts (DCTCP), or by CNPs, of which there are few (DCQCN). */
export type Senders = 'acks' | 'cnps'

/** Periods with marks and without CNPs after which nobody is taken to send CNPs any more. */
const WITHOUT_MAX = 20

/**
 * CNPs that come back by a queue's port show that its senders take them. Where both kinds of senders share the queue, those with CNPs count:
 * they slow down more.
 */
export class SenderKind {
  #kind: Senders = 'acks'
  #without = 0

  get kind(): Senders {
    return this.#kind
  }

  onPeriod({ marks, cnps }: QueueFeatures): void {
    if (cnps > 0) {
      this.#kind = 'cnps'
      this.#without = 0
    } else if (marks > 0) {
      this.#without += 1
      if (this.#without >= WITHOUT_MAX) this.#kind = 'acks'
    }
  }
}
