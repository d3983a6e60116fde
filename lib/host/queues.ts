import { CompletionRing } from './completion-ring.js'
import { WorkRing } from './work-ring.js'

const ANY = 1
const SOLICITED = 2

/** The memory of a connection's queues in the form that crosses to the other thread. */
export interface SharedQueues {
  sends: SharedArrayBuffer
  receives: SharedArrayBuffer
  completions: SharedArrayBuffer
  /** 1 while the application sleeps until a completion wakes it, 2 until a solicited one does. */
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
    Atomics.store(this.#wanted, 0, ANY)
  }

  /** The same, at the next one that a peer solicits, or that has failed. */
  wantSolicited(): void {
    Atomics.compareExchange(this.#wanted, 0, 0, SOLICITED)
  }

  /** NIC: returns true, once, if the application has asked to be woken by such a completion. */
  takeWanted(isSolicited: boolean): boolean {
    const wanted = Atomics.load(this.#wanted, 0)
    if (wanted === 0 || (wanted === SOLICITED && !isSolicited)) return false
    return Atomics.exchange(this.#wanted, 0, 0) !== 0
  }
}
