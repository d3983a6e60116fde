/** One answer can lower N to this share of itself at most. */
const FLOWS_KEPT = 15 / 16

/**
 * The share of a host's receive buffer that one of the flows that send to it may fill: the budget told at connect,
 * divided by N.
 */
export class HostShare {
  /** Payload bytes that the peer's receive buffer can take at once; infinite when the peer does not say. */
  budgetBytes = Number.POSITIVE_INFINITY
  /** Flows that send to the same host now. */
  #flows = 1

  /**
   * The peer has told N; 0 = it has not. N counts who has sent within 10 ms, which misses some of very many flows. If
   * all of them took N to have fallen at once, together they would overrun the buffer.
   */
  onFlows(flows: number): void {
    if (flows > 0) this.#flows = Math.max(flows, this.#flows * FLOWS_KEPT)
  }

  get bytes(): number {
    return this.budgetBytes / this.#flows
  }
}
