import { sipHash24 } from '../../wire/bytes/siphash.js'

const QPNS = 1 << 24
const HALF_BITS = 12
const HALF_MASK = (1 << HALF_BITS) - 1
const ROUNDS = 6
/** What is hashed: in the first byte the round of a QPN, or this for the GUID. */
const GUID = 0xff

/**
 * What peers know a host and its queue pairs by: a GUID and QPNs that nobody else can guess. They follow
 * from two random numbers, so a NIC draws the same amount from its source however many connections it has.
 */
export class Names {
  /** GUID of the NIC, 64 bits. */
  readonly guid: bigint
  readonly #key: Uint32Array
  readonly #view = new DataView(new ArrayBuffer(8))
  readonly #hash = new Uint32Array(2)
  #count = 0

  /** @param first 32 random bits, as is @param second */
  constructor(first: number, second: number) {
    this.#key = Uint32Array.of(first, second, ~first, ~second)
    this.#hashOf(GUID, 0)
    this.guid = (BigInt(this.#hash[1]!) << 32n) | BigInt(this.#hash[0]!)
  }

  /**
   * Another QPN, 2 to 0xffffff: 0 and 1 are special (IBA 10.2.4). A QPN comes back only after all others, so that late packets
   * of a connection do not reach its successor: this is a permutation of a count (a Feistel network).
   */
  nextQpn(): number {
    for (;;) {
      const qpn = this.#permuted(this.#count)
      this.#count = (this.#count + 1) % QPNS
      if (qpn > 1) return qpn
    }
  }

  #permuted(count: number): number {
    let left = count >>> HALF_BITS
    let right = count & HALF_MASK
    for (let round = 0; round < ROUNDS; round++) {
      this.#hashOf(round, right)
      const mixed = left ^ (this.#hash[0]! & HALF_MASK)
      left = right
      right = mixed
    }
    return (left << HALF_BITS) | right
  }

  #hashOf(what: number, value: number): void {
    this.#view.setUint8(0, what)
    this.#view.setUint32(4, value)
    sipHash24(this.#key, this.#view, 0, 8, this.#hash)
  }
}
