import { timingSafeEqual } from 'node:crypto'

/** Length of a proof, bytes. */
export const END_PROOF_BYTES = 8

/**
 * What an end of a connection with a key shows when it ends an established connection, so that nobody else can, whatever they have
 * seen. Each end has bytes of its own, which it shows once: they only let an observer end what is ending.
 */
export class EndProof {
  /** What this end shows. */
  readonly own: Uint8Array
  readonly #peers: Uint8Array

  /** Both of `END_PROOF_BYTES`, from the connection's keys. */
  constructor(own: Uint8Array, peers: Uint8Array) {
    this.own = own
    this.#peers = peers
  }

  /** True if the peer sent this. */
  isPeers(shown: Uint8Array): boolean {
    return shown.length === END_PROOF_BYTES && timingSafeEqual(shown, this.#peers)
  }
}
