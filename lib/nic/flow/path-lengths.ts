import type { HostAddress } from '../../wire/net/address.js'

const PEERS_MAX = 1024

/**
 * How many switches there are on the way to a peer, where that was more than the telemetry of a connection had slots for: the next
 * connection to this peer asks for as many.
 */
export class PathLengths {
  readonly #least: number
  readonly #most: number
  /** By peer; starts over when there are too many. */
  readonly #known = new Map<string, number>()

  /** @param least slots that every connection has; @param most slots that fit into a packet */
  constructor(least: number, most: number) {
    this.#least = least
    this.#most = Math.max(least, most)
  }

  /** Slots for a new connection to that peer. */
  slotsTo(peer: HostAddress): number {
    return this.#known.size === 0 ? this.#least : (this.#known.get(peer.toString()) ?? this.#least)
  }

  /** A packet to that peer has passed so many switches, more than it had slots for. */
  learn(peer: HostAddress, switches: number): void {
    const slots = Math.min(switches, this.#most)
    if (slots <= this.slotsTo(peer)) return
    if (this.#known.size >= PEERS_MAX) this.#known.clear()
    this.#known.set(peer.toString(), slots)
  }
}
