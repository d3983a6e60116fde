import { type Nanos, SECOND } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'

const PEERS_MAX = 1024
/** After this time the longest packets are tried again (RFC 8899, section 5.1.1: PMTU_RAISE_TIMER). */
const FORGET_NS: Nanos = 600 * SECOND
/** What a path may take that does not take the longest packets: Ethernet, IPv6 (RFC 8200, section 5), and IPv4 (RFC 791: 576). */
const SHORTER_BYTES = [1500, 1280, 576]

/** How long IP packets to a peer may be, where longer ones turned out not to arrive. */
export class PacketSizes {
  readonly #most: number
  /** By peer; starts over when there are too many. */
  readonly #shorter = new Map<string, { bytes: number; untilNs: Nanos }>()

  /** @param most bytes that this host's interface takes; 0 = packets are of a length that a user has chosen */
  constructor(most: number) {
    this.#most = most
  }

  /** Bytes of the longest packet to that peer. */
  bytesTo(now: Nanos, peer: HostAddress): number {
    if (this.#shorter.size === 0) return this.#most
    const known = this.#shorter.get(peer.toString())
    return known === undefined || known.untilNs <= now ? this.#most : known.bytes
  }

  /**
   * Packets of `tried` bytes do not arrive at that peer. Returns what new connections try instead; 0 = there is nothing shorter. Several
   * connections may find out the same.
   */
  shorten(now: Nanos, peer: HostAddress, tried: number): number {
    const before = this.bytesTo(now, peer)
    if (before < tried) return before
    const bytes = SHORTER_BYTES.find(shorter => shorter < before) ?? 0
    if (bytes === 0) return 0
    if (this.#shorter.size >= PEERS_MAX) this.#shorter.clear()
    this.#shorter.set(peer.toString(), { bytes, untilNs: now + FORGET_NS })
    return bytes
  }
}
