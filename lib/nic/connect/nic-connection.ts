import type { WeirError } from '../../errors.js'
import type { ReceiveWork, SendWork } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { Flow } from '../flow/flow.js'
import type { Connection, ConnectionStats } from '../types.js'
import { agreedOf } from './peer-words.js'

/** What a connection asks of its NIC. */
interface Owner {
  flowChanged(now: Nanos, flow: Flow): void
  disconnect(now: Nanos, flow: Flow): void
  fail(now: Nanos, flow: Flow, error: WeirError): void
}

/** An application's end of a connection: its view of the NIC's flow. */
export class NicConnection implements Connection {
  readonly flow: Flow
  readonly #owner: Owner

  constructor(owner: Owner, flow: Flow) {
    this.#owner = owner
    this.flow = flow
  }

  get id(): number {
    return this.flow.qpn
  }

  get remote(): HostAddress {
    return this.flow.remote
  }

  get peerPrivateData(): Uint8Array {
    return this.flow.handshake.peerPrivateData
  }

  get agreed(): Uint8Array {
    return agreedOf(this.flow)
  }

  get established(): boolean {
    return this.flow.ending.phase === 'established'
  }

  get pathMtu(): number {
    return this.flow.peer.payloadMax
  }

  get stats(): ConnectionStats {
    const { stats, qp } = this.flow
    stats.receivedPackets = qp.counters.receivedPackets
    stats.otherService = qp.counters.otherService
    return stats
  }

  postSend(now: Nanos, work: SendWork): boolean {
    // Another flow may have its place in the NIC by now.
    if (this.flow.ending.phase === 'closed') return false
    const posted = this.flow.qp.postSend(now, work)
    this.#owner.flowChanged(now, this.flow)
    return posted
  }

  postReceive(work: ReceiveWork): boolean {
    return this.flow.ending.phase !== 'closed' && this.flow.qp.postReceive(work)
  }

  disconnect(now: Nanos, error?: WeirError): void {
    if (error !== undefined && this.established) this.#owner.fail(now, this.flow, error)
    else this.#owner.disconnect(now, this.flow)
  }
}
