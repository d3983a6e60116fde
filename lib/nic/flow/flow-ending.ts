import type { WeirError } from '../../errors.js'
import type { WorkStatus } from '../../qp/queues/work-status.js'
import { type Nanos, NEVER } from '../../time/nanos.js'

/**
 * Where a flow is in its life; only an established one sends. The phases of its end (see Endings): `ending` sends what it owes
 * before it leaves, `closing` has left and waits for the answer, `left` waits for answers although the peer has left.
 */
export type FlowPhase = 'connecting' | 'accepting' | 'established' | 'ending' | 'closing' | 'left' | 'closed'

/** Where a flow is in its life, and why it ends. Endings decides; this remembers. Its fields change by its methods. */
export class FlowEnding {
  phase: FlowPhase
  /** When the current phase of the connection's end is over, whatever has arrived by then. */
  endsNs: Nanos = NEVER
  #failure: WeirError | null = null
  #refusal: WeirError | null = null
  #failedStatus: WorkStatus | -1 = -1

  constructor(phase: FlowPhase) {
    this.phase = phase
  }

  /** Why the flow is failing: its handler learns it once the peer has. */
  get failure(): WeirError | null {
    return this.#failure
  }

  /** Why the flow is not admitted to its path, for its handler. */
  get refusal(): WeirError | null {
    return this.#refusal
  }

  /** There is news of the flow's end for its handler. */
  get hasNews(): boolean {
    return this.#failedStatus !== -1 || this.#refusal !== null
  }

  /** @param endsNs when that phase is over, NEVER = an event ends it */
  enter(phase: FlowPhase, endsNs: Nanos = this.endsNs): void {
    this.phase = phase
    this.endsNs = endsNs
  }

  /** The connection fails. */
  fail(why: WeirError | null): void {
    this.#failure = why
  }

  refuse(why: WeirError): void {
    this.#refusal = why
  }

  takeRefusal(): WeirError | null {
    const refusal = this.#refusal
    this.#refusal = null
    return refusal
  }

  /** The queue pair has gone into error. */
  onError(status: WorkStatus): void {
    this.#failedStatus = status
  }

  /** Why the queue pair has gone into error, once; -1 = it has not. */
  takeFailedStatus(): WorkStatus | -1 {
    const status = this.#failedStatus
    this.#failedStatus = -1
    return status
  }
}
