import type { DatagramHandler, DatagramPair } from '../nic/datagram/datagram-pair.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { Nanos } from '../time/nanos.js'
import { HostedWork } from './hosted-work.js'
import type { RegionOfKey } from './work-ring.js'

/** Hears what happens to a datagram queue pair. */
interface HostedDatagramEvents {
  completions(of: { id: number }): void
  /** With why it has ended by itself. */
  datagramsClosed(of: HostedDatagrams): void
}

/** The NIC's end of a datagram queue pair whose application is on another thread. */
export class HostedDatagrams extends HostedWork<DatagramPair> implements DatagramHandler {
  readonly #events: HostedDatagramEvents

  constructor(id: number, regionOf: RegionOfKey, events: HostedDatagramEvents, domain: DomainId) {
    super(id, regionOf, domain, () => events.completions(this))
    this.#events = events
  }

  onCompletion(now: Nanos, _pair: DatagramPair, completion: Completion): void {
    this.complete(now, completion)
  }

  onClosed(): void {
    this.isClosed = true
    this.#events.datagramsClosed(this)
  }
}
