import { CompletionRing } from './completion-ring.js'
import { WorkRing } from './work-ring.js'

/** The memory of a connection's queues in the form that crosses to the other thread. */
export interface SharedQueues {
  sends: SharedArrayBuffer
  receives: SharedArrayBuffer
  completions: SharedArrayBuffer
  /** 1 while the application sleeps until a completion wakes it. */
  wanted: SharedArrayBuffer
}

/** The queues of one connection, in memory that both threads share. */
export class Queues {
  readonly sends: WorkRing
  readonly receives: WorkRing
  readonly completions: CompletionRing
  readonly #wanted: Int32Array
  readonly shared: SharedQueues

  /** Throws WEIR_BAD_ARGUMENT unless `depth`, of the sends and of the receives, is a power of two from 2 to 32768. */
  static make(depth: number): Queues {
    return new Queues({
      sends: WorkRing.make(depth).ring.memory,
      receives: WorkRing.make(depth).ring.memory,
      completions: CompletionRing.make(2 * depth).ring.memory,
      wanted: new SharedArrayBuffer(4),
    })
  }

  constructor(shared: SharedQueues) {
    this.shared = shared
    this.sends = new WorkRing(shared.sends)
    this.receives = new WorkRing(shared.receives)
    this.completions = new CompletionRing(shared.completions)
    this.#wanted = new Int32Array(shared.wanted)
  }

  /**
   * Application: asks the NIC to wake it at the next completion. Check for one after this call, not before.
   */
  want(): void {
    Atomics.store(this.#wanted, 0, 1)
  }

  /** NIC: returns true, once, if the application has asked to be woken. */
  takeWanted(): boolean {
    return Atomics.load(this.#wanted, 0) === 1 && Atomics.exchange(this.#wanted, 0, 0) === 1
  }
}
