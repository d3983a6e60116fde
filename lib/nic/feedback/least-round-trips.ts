import { type Nanos, NEVER } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'

const PEERS_MAX = 1024

/**
 * The least round trip to each peer that probes of any connection of this host have measured of late. Connections that are made while
 * others are being made measure the load of that: 901 ms on loopback have been seen. The paths of a peer's connections may differ, so what one
 * of them has measured is no more than an estimate for another.
 */
export class LeastRoundTrips {
  readonly #halfNs: Nanos
  /** By peer, of this half of the window, and of the half before; starts over when there are too many. */
  #known = new Map<string, Nanos>()
  #before = new Map<string, Nanos>()
  #endsNs: Nanos = Number.NEGATIVE_INFINITY

  /** @param windowNs for which a round trip counts, or for half of it */
  constructor(windowNs: Nanos) {
    this.#halfNs = windowNs / 2
  }

  /** Probes have measured a round trip to that peer. Returns the least one. */
  add(now: Nanos, peer: HostAddress, rttNs: Nanos): Nanos {
    if (now >= this.#endsNs) this.#turn(now)
    const key = peer.toString()
    const leastNs = Math.min(rttNs, this.#known.get(key) ?? NEVER)
    if (this.#known.size >= PEERS_MAX && !this.#known.has(key)) this.#known.clear()
    this.#known.set(key, leastNs)
    return Math.min(leastNs, this.#before.get(key) ?? NEVER)
  }

  #turn(now: Nanos): void {
    this.#before = now < this.#endsNs + this.#halfNs ? this.#known : new Map()
    this.#known = new Map()
    this.#endsNs = now + this.#halfNs
  }
}
