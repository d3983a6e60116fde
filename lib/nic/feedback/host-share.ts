import { DOUBLE_0, DOUBLE_1 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'

/** One answer can lower N to this share of itself at most. */
const FLOWS_KEPT = 15 / 16
/** A path no longer than this holds little: all that is in flight may wait at the host. */
const SHORT_NS: Nanos = 1_000_000
/** What is on the way may grow by a quarter a round trip. */
const GROWTH = 1.25

/**
 * A few flows together have no more of a large buffer than this, what a socket buffer of 16 MiB takes: more would only make the host's queue
 * longer.
 */
const FLOW_BYTES_MAX = 5_592_405
/**
 * Each of many flows may have this, as far as the buffer goes. With less, its turns would be so short that they cost more than the packets.
 */
const TURN_BYTES = 350_000

/** What one flow may have of a buffer that takes `budgetBytes` at once. */
export function flowBytesOf(budgetBytes: number): number {
  return budgetBytes === Number.POSITIVE_INFINITY ? budgetBytes : Math.min(budgetBytes, FLOW_BYTES_MAX)
}

/**
 * What one of N flows that send to a host may have in flight: its share of the budget, the receive buffer that the host has advertised at
 * connect. The share is an N-th of what one flow may have, or, of a large budget, up to a turn's bytes as above. On a long path the flow
 * adds what is on the way, because that does not wait in the buffer: what has been acknowledged in a round trip of the idle path. So a buffer
 * that is small beside the path's bandwidth-delay product does not keep the path empty.
 */
export class HostShare {
  /** Payload bytes that this flow may have in flight. */
  bytes = Number.POSITIVE_INFINITY
  #flowBytes = Number.POSITIVE_INFINITY
  /** Payload bytes that the peer's receive buffer can take of all flows at once. */
  #hostBytes = Number.POSITIVE_INFINITY
  /** Flows that send to the same host now. */
  #flows = DOUBLE_1
  #onTheWayBytes = DOUBLE_0
  /** Acknowledged since then. */
  #ackedBytes = 0
  #sinceNs: Nanos = DOUBLE_0
  /** Acknowledged in the round trip before, per ns. */
  #lastRate = DOUBLE_0

  /** Payload bytes that the peer's receive buffer can take of one flow at once; infinite when the peer does not say. */
  get flowBytes(): number {
    return this.#flowBytes
  }

  /**
   * The peer has said what it takes in at a time.
   * @param flowBytes of one flow; of an older peer all of its buffer, however large
   * @param hostBytes of all flows; less than `flowBytes`, or 0 = not said: `flowBytes` is for all of them
   */
  onBudget(flowBytes: number, hostBytes: number): void {
    this.#flowBytes = flowBytesOf(flowBytes)
    this.#hostBytes = Math.max(flowBytes, hostBytes)
    this.#divide()
  }

  /**
   * The peer has said N; 0 = it has not. N leaves out flows between two messages. If
   * all flows followed a fall of N at once, together they would overrun the buffer.
   */
  onFlows(flows: number): void {
    if (flows === 0) return
    const counted = Math.max(flows, this.#flows * FLOWS_KEPT)
    if (counted === this.#flows) return
    this.#flows = counted
    this.#divide()
  }

  /** So many bytes have been acknowledged. @param baseRttNs T */
  onAcked(now: Nanos, bytes: number, baseRttNs: Nanos): void {
    if (this.#flowBytes === Number.POSITIVE_INFINITY || baseRttNs <= SHORT_NS) return
    this.#ackedBytes += bytes
    const passedNs = now - this.#sinceNs
    if (passedNs < baseRttNs) return
    const rate = this.#ackedBytes / passedNs
    // One round trip with a pause in it does not empty the path.
    this.#onTheWayBytes = GROWTH * Math.max(rate, this.#lastRate) * (baseRttNs - SHORT_NS)
    this.#lastRate = rate
    this.#ackedBytes = 0
    this.#sinceNs = now
    this.#divide()
  }

  /** Others send to the same host. */
  get isShared(): boolean {
    return this.#flows > 1
  }

  #divide(): void {
    const turnBytes = Math.min(this.#hostBytes / this.#flows, TURN_BYTES)
    const shareBytes = Math.max(this.#flowBytes / this.#flows, turnBytes)
    this.bytes = Math.min(this.#flowBytes, shareBytes) + this.#onTheWayBytes
  }
}
