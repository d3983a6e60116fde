/**
 * Packets that have left at the same time: one behind another at the rate of the host's link. The paper's round trip is
 *
 *     completion time - send time - segment size / NIC rate          (Mittal et al., section 3.1)
 *
 * so what was ahead of a packet in its own burst is no queue of the network. Units: ns, payload bytes; packets are numbered as in AckSample.
 */
import type { Nanos } from '../../time/nanos.js'

/** Bursts that are remembered, a power of two. What left before them counts as if alone. */
const BURSTS = 256

export class Bursts {
  readonly #lineRateBps: number
  readonly #firstSeq = new Float64Array(BURSTS).fill(Number.POSITIVE_INFINITY)
  readonly #lastSeq = new Float64Array(BURSTS).fill(-1)
  readonly #packetBytes = new Float64Array(BURSTS)
  /** Bursts of more than one packet, so far. */
  #count = 0
  /** The oldest that may still be acknowledged. */
  #oldest = 0
  #sentNs: Nanos = -1
  #sentSeq = -1
  /** The first packet that left at `#sentNs`, and payload bytes since then. */
  #burstSeq = 0
  #burstBytes = 0

  /** @param lineRateBps of the host's link */
  constructor(lineRateBps: number) {
    this.#lineRateBps = lineRateBps
  }

  /** A packet has left, or a run of which `seq` is the last, with so many bytes in all. */
  onSent(now: Nanos, seq: number, bytes: number): void {
    const goesOn = now === this.#sentNs
    if (!goesOn) {
      this.#sentNs = now
      this.#burstSeq = this.#sentSeq + 1
      this.#burstBytes = 0
    }
    const wasOne = this.#sentSeq <= this.#burstSeq
    this.#burstBytes += bytes
    this.#sentSeq = seq
    const packets = seq - this.#burstSeq + 1
    if (packets < 2) return
    if (!goesOn || wasOne) this.#count++
    const at = (this.#count - 1) & (BURSTS - 1)
    this.#firstSeq[at] = this.#burstSeq
    this.#lastSeq[at] = seq
    this.#packetBytes[at] = this.#burstBytes / packets
  }

  /** How long the packets ahead of this one in its burst took on the host's link. */
  aheadNs(seq: number): Nanos {
    this.#oldest = Math.max(this.#oldest, this.#count - BURSTS)
    while (this.#oldest < this.#count && this.#lastSeq[this.#oldest & (BURSTS - 1)]! < seq) this.#oldest++
    if (this.#oldest === this.#count) return 0
    const at = this.#oldest & (BURSTS - 1)
    const ahead = Math.max(0, seq - this.#firstSeq[at]!)
    return (ahead * this.#packetBytes[at]! * 8e9) / this.#lineRateBps
  }
}
