import type { Nanos } from '../../time/nanos.js'

/**
 * How far the direct responses of switches hold a flow's window down (draft-pan-tsvwg-hpccplus-01, section 6.3: senders "slow down
 * as soon as possible").
 *
 * A response says early what the telemetry of its packet will say later: the queue that this packet met, made by packets before
 * it. Only packets sent after the response show the effect of the smaller window. Until their telemetry comes, the lowest window of
 * the round trip counts, and W_c and U stay as they are. Switches answer flows at different moments of the same burst: a flow that
 * is answered while the queue is still short would otherwise keep a greater W_c for long.
 *
 * Where packets seldom collect telemetry, a whole round trip may bring responses alone. Then W_c is old: the answered packet was sent with
 * the cap, so the next window is computed from that.
 */
export class DirectCap {
  /** The window is at most this. */
  bytes = Number.POSITIVE_INFINITY
  /** The first packet that was sent after the last response. */
  #sndNxt = -1
  /** Telemetry has come since then. */
  #measured = true

  /** The window that an answered packet was sent with, as far as is known. @param wcBytes W_c */
  windowOf(seq: number, wcBytes: number): number {
    return this.#measured || seq < this.#sndNxt ? wcBytes : Math.min(wcBytes, this.bytes)
  }

  /** @param seq of the packet that was answered; @param sndNxt the packet that the flow sends next; @param windowBytes by the response */
  onResponse(seq: number, sndNxt: number, windowBytes: number): void {
    const sameRound = seq < this.#sndNxt
    this.bytes = sameRound ? Math.min(this.bytes, windowBytes) : windowBytes
    this.#sndNxt = sndNxt
    this.#measured = false
  }

  /** @param firstSeq the first packet that telemetry has measured */
  onMeasured(firstSeq: number): void {
    this.#measured = true
    if (firstSeq >= this.#sndNxt) this.bytes = Number.POSITIVE_INFINITY
  }

  /** T has changed, and windows with it. */
  onBaseRtt(earlierNs: Nanos, nowNs: Nanos): void {
    this.bytes *= nowNs / earlierNs
  }

  forget(): void {
    this.bytes = Number.POSITIVE_INFINITY
    this.#sndNxt = -1
    this.#measured = true
  }
}
