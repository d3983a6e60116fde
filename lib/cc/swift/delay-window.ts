/**
 * A window that one delay moves (algorithm 1): that of the network moves fcwnd, that of the receiving host ecwnd. Windows are packets.
 *
 * | situation | window |
 * |---|---|
 * | delay < target | + ai / cwnd x packets acknowledged; + ai x packets where cwnd < 1 |
 * | delay >= target, a round trip after the last decrease | x max(1 - beta (delay - target) / delay, 1 - max_mdf) |
 * | a loss, or a timeout, a round trip after the last decrease | x (1 - max_mdf) |
 * | RETX_RESET_THRESHOLD timeouts in a row | min_cwnd |
 *
 * In the printed algorithm the time of the last decrease also moves where the window stays the same. With many acknowledgements in a round
 * trip that would end all decreases, so here it moves with a decrease alone.
 */
import type { Nanos } from '../../time/nanos.js'

interface DelayWindowConstants {
  ai: number
  beta: number
  maxMdf: number
}

export class DelayWindow {
  /** Packets. */
  cwnd: number
  readonly #constants: DelayWindowConstants
  readonly #minPackets: number
  readonly #maxPackets: number
  #lastDecreaseNs: Nanos = Number.NEGATIVE_INFINITY

  /** @param cwnd with which it begins */
  constructor(constants: DelayWindowConstants, minPackets: number, maxPackets: number, cwnd: number) {
    this.#constants = constants
    this.#minPackets = minPackets
    this.#maxPackets = maxPackets
    this.cwnd = Math.min(maxPackets, Math.max(minPackets, cwnd))
  }

  /** @param packets acknowledged, need not be whole; 0 = the window must not grow */
  onDelay(now: Nanos, delayNs: Nanos, targetNs: Nanos, packets: number, rttNs: Nanos): void {
    const { ai, beta, maxMdf } = this.#constants
    if (delayNs < targetNs) this.add(this.cwnd >= 1 ? (ai / this.cwnd) * packets : ai * packets)
    else this.#decrease(now, Math.max(1 - (beta * (delayNs - targetNs)) / delayNs, 1 - maxMdf), rttNs)
  }

  /** @param packets more than before */
  add(packets: number): void {
    this.cwnd = Math.min(this.#maxPackets, this.cwnd + packets)
  }

  onLoss(now: Nanos, rttNs: Nanos): void {
    this.#decrease(now, 1 - this.#constants.maxMdf, rttNs)
  }

  /** Timeouts in a row. */
  reset(now: Nanos): void {
    this.cwnd = this.#minPackets
    this.#lastDecreaseNs = now
  }

  #decrease(now: Nanos, factor: number, rttNs: Nanos): void {
    if (now - this.#lastDecreaseNs < rttNs || factor >= 1) return
    this.cwnd = Math.max(this.#minPackets, this.cwnd * factor)
    this.#lastDecreaseNs = now
  }
}
