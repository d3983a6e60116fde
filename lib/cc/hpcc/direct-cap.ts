import type { Nanos } from '../../time/nanos.js'

/**
 * How far the direct responses of switches hold a flow's window down (draft-pan-tsvwg-hpccplus-01, section 6.3: senders "slow down
 * as soon as possible").
 *
 * A response says early what the telemetry of its packet will say later: the queue that this packet met, made by packets before
 * it. Only packets sent after the response show the effect of the smaller window. Until telemetry of one of them comes, the lowest
 * window of the round trip counts. Switches answer flows at different moments of the same burst: a flow that is answered while the
 * queue is still short would otherwise keep a greater window for long.
 *
 * Telemetry and responses of a packet scale the window that the packet was sent with. Of packets sent after a response this is its window:
 * with the greater W_c, flows would fill the queue again that they have just drained.
 */
export class DirectCap {
  /** The window is at most this. */
  bytes = Number.POSITIVE_INFINITY
  /** The first packet that was sent after the last response. */
  #sndNxt = -1
  /** A probe has measured since then. */
  #probed = false

  /** The window that an answered packet was sent with. @param wcBytes W_c */
  windowOf(seq: number, wcBytes: number): number {
    return this.#probed || seq < this.#sndNxt ? wcBytes : Math.min(wcBytes, this.bytes)
  }

  /** @param seq of the packet that was answered; @param sndNxt the packet that the flow sends next; @param windowBytes by the response */
  onResponse(seq: number, sndNxt: number, windowBytes: number): void {
    const sameRound = seq < this.#sndNxt
    this.bytes = sameRound ? Math.min(this.bytes, windowBytes) : windowBytes
    this.#sndNxt = sndNxt
    this.#probed = false
  }

  /** That packet has been measured. Returns the window of the response that it was sent after, which counts no more; otherwise infinity. */
  onMeasured(seq: number): number {
    if (seq < this.#sndNxt) return Number.POSITIVE_INFINITY
    const { bytes } = this
    this.bytes = Number.POSITIVE_INFINITY
    return bytes
  }

  /** A probe has measured all packets from that one on. Its W_c is of all of them, so the next response scales that. */
  onProbed(firstSeq: number): void {
    this.#probed = true
    if (firstSeq >= this.#sndNxt) this.bytes = Number.POSITIVE_INFINITY
  }

  /** T has changed, and windows with it. */
  onBaseRtt(earlierNs: Nanos, nowNs: Nanos): void {
    this.bytes *= nowNs / earlierNs
  }

  forget(): void {
    this.bytes = Number.POSITIVE_INFINITY
    this.#sndNxt = -1
    this.#probed = false
  }
}
