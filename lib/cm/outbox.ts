import * as mad from '../wire/cm/mad.js'
import { HostAddress } from '../wire/net/address.js'
import type { Duties } from './duties.js'

/** One datagram to QP 1. The caller of `pollTransmit` reuses it. */
export class MadDatagram {
  source: HostAddress = HostAddress.fromIpv4(0)
  destination: HostAddress = HostAddress.fromIpv4(0)
  /** UDP port of the destination. */
  udpPort = 0
  readonly bytes = new Uint8Array(mad.BYTES)
  readonly view = new DataView(this.bytes.buffer)
}

/**
 * A ring of fixed size for outgoing datagrams. When it is full, a message that awaits an answer waits for room (CmMachine). An answer is
 * lost, as in the network, and the peer's repetition asks for it again. So a flood of requests cannot make it grow.
 */
export class Outbox {
  readonly capacity: number
  readonly #ring: MadDatagram[] = []
  #head = 0
  #count = 0
  readonly #duties: Duties

  /** @param duties count its datagrams too */
  constructor(capacity: number, duties: Duties) {
    this.capacity = capacity
    this.#duties = duties
  }

  get length(): number {
    return this.#count
  }

  /** Returns the datagram to fill in, or null when the ring is full. */
  add(source: HostAddress, destination: HostAddress, udpPort: number): MadDatagram | null {
    if (this.#count === this.capacity) return null
    const at = (this.#head + this.#count) % this.capacity
    // Slots are created when the ring first reaches them. Then `at` is the length of the array.
    if (at === this.#ring.length) this.#ring.push(new MadDatagram())
    const datagram = this.#ring[at]!
    datagram.source = source
    datagram.destination = destination
    datagram.udpPort = udpPort
    this.#count++
    this.#duties.count++
    return datagram
  }

  /** Takes the oldest datagram. Returns false when there is none. */
  take(into: MadDatagram): boolean {
    if (this.#count === 0) return false
    copy(this.#ring[this.#head]!, into)
    this.#head = (this.#head + 1) % this.capacity
    this.#count--
    this.#duties.count--
    return true
  }

  /** Takes the oldest datagram to that host, past those to others; false when there is none. */
  takeFor(destination: HostAddress, into: MadDatagram): boolean {
    for (let n = 0; n < this.#count; n++) {
      const datagram = this.#ring[this.#place(n)]!
      if (!datagram.destination.equals(destination)) continue
      // Those before it move up, so that it is the oldest.
      for (let m = n; m > 0; m--) this.#ring[this.#place(m)] = this.#ring[this.#place(m - 1)]!
      this.#ring[this.#head] = datagram
      return this.take(into)
    }
    return false
  }

  #place(n: number): number {
    return (this.#head + n) % this.capacity
  }
}

function copy(from: MadDatagram, into: MadDatagram): void {
  into.source = from.source
  into.destination = from.destination
  into.udpPort = from.udpPort
  into.bytes.set(from.bytes)
}
