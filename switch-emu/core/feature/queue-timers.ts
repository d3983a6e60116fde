import { DeadlineHeap } from '../../../lib/time/deadline-heap.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'

/** The feature that owns timers. */
export interface TimerOwner {
  timeout(at: Nanos, port: number, priority: number): void
}

/**
 * Timers of one feature: one for each port and priority of its switch. A feature that needs one timer per
 * port uses that of priority 0.
 */
export class QueueTimers {
  readonly #deadlines = new DeadlineHeap()

  constructor(ports: number) {
    for (let queue = 0; queue < ports * PRIORITIES; queue++) this.#deadlines.add()
  }

  /** Sets a timer. NEVER stops it. A timer fires once, and `timeout` may set it again. */
  set(port: number, priority: number, atNs: Nanos): void {
    this.#deadlines.set(port * PRIORITIES + priority, atNs)
  }

  /** When the first timer fires, or NEVER. */
  nextTimeout(): Nanos {
    return this.#deadlines.firstTime()
  }

  /** Calls `owner` for all expired timers. A driver that wakes late finds several, each with its own time. */
  onTimeout(now: Nanos, owner: TimerOwner): void {
    const deadlines = this.#deadlines
    for (let at = deadlines.firstTime(); at <= now; at = deadlines.firstTime()) {
      const queue = deadlines.first()
      deadlines.set(queue, NEVER)
      const priority = queue % PRIORITIES
      owner.timeout(at, (queue - priority) / PRIORITIES, priority)
    }
  }
}
