/** N falls no further than to this share of itself with one answer. */
const FLOWS_KEPT = 15 / 16

/** What of its receive buffer a host leaves to one of the flows that send to it: the budget that it told at connect, divided by N. */
export class HostShare {
  /** Payload bytes that the peer's receive buffer can take at once; infinite when the peer does not say. */
  budgetBytes = Number.POSITIVE_INFINITY
  /** Flows that send to the same host now. */
  #flows = 1

  /**
   * The peer has told N; 0 = it has not. It counts who has sent within 10 ms. Of very many flows some come seldomer: all of them
   * together would overrun it if each took N to have fallen at once.
   */
  onFlows(flows: number): void {
    if (flows > 0) this.#flows = Math.max(flows, this.#flows * FLOWS_KEPT)
  }

  get bytes(): number {
    return this.budgetBytes / this.#flows
  }
}
