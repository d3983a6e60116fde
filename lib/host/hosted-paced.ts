import type { PacedHandler, PacedPair } from '../nic/paced/paced-pair.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { ReceiveSource } from '../qp/queues/receive-queue.js'
import type { Nanos } from '../time/nanos.js'
import { HostedWork } from './hosted-work.js'
import type { RegionOfKey } from './work-ring.js'

/** Hears what happens to a queue pair that nobody acknowledges. */
interface HostedPacedEvents {
  completions(of: { id: number }): void
  pacedClosed(of: HostedPaced): void
}

/** The NIC's end of such a queue pair whose application is on another thread. */
export class HostedPaced extends HostedWork<PacedPair> implements PacedHandler {
  readonly #events: HostedPacedEvents

  constructor(
    id: number,
    regionOf: RegionOfKey,
    events: HostedPacedEvents,
    domain: DomainId,
    sharedReceiveQueue: ReceiveSource | null,
  ) {
    super(id, regionOf, domain, sharedReceiveQueue, () => events.completions(this))
    this.#events = events
  }

  onCompletion(now: Nanos, _pair: PacedPair, completion: Completion): void {
    this.complete(now, completion)
  }

  onClosed(): void {
    this.isClosed = true
    this.#events.pacedClosed(this)
  }
}
