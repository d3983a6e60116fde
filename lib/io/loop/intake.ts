import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import { StandingQueue } from './standing-queue.js'

/**
 * Bytes of busy rounds over which a rate is measured. A single round would show the resolution of the clock,
 * and other processes on the core.
 */
const SAMPLE_BYTES = 64 * 1024
/** Hosts take packets in batches. Only bytes in excess of a batch of this length count as a queue. */
const BATCH_NS: Nanos = 250_000
/**
 * A packet of 4 KiB with all its headers. A single packet is no queue, even if a batch is shorter on a slow
 * line.
 */
const PACKET_BYTES = 4096 + 512
/** The rate is the greatest one that was measured within the last one to two windows. */
const WINDOW_NS: Nanos = 100 * MILLISECOND

/**
 * Measures how well a host keeps up with arriving packets, as seen by its loop: one snapshot a round. The NIC
 * reports it to senders as the path's last hop.
 *
 * The rate is that at which the host can take packets in: bytes per busy time. A round is busy from its first
 * frame to its end, and until the next round if more frames waited at its end (the busy period of queueing
 * theory). So everything that the thread does while packets wait counts as busy. The result is the greatest
 * of these rates in the last 100 to 200 ms. BBR estimates the bottleneck's bandwidth in the same way
 * (draft-ietf-ccwg-bbr, section on BBR.max_bw). A mean would decrease with every moment in which the process
 * did not run. A sender that followed it would make rounds shorter, and so decrease the mean further. If the
 * host does not keep up, its queue shows it.
 */
export class Intake {
  /** When the last round began. */
  stampNs: Nanos = 0
  /** Bytes of all frames taken in before the last round. */
  takenBytes = 0
  /**
   * Integral of the queue over time: the difference of two values divided by the time between them is the
   * mean queue. The queue is what still waits after a round has taken its frames, plus what the round took
   * beyond BATCH_NS worth of work and beyond one packet. Only the standing part of it counts (StandingQueue).
   */
  queueByteNs = 0
  /** Bit/s, at most the line rate. It is the line rate until a rate has been measured. */
  rateBps: number
  readonly #lineRateBps: number
  readonly #standing: StandingQueue
  #waitingBytes = 0
  #lastStampNs: Nanos = 0
  /** Bytes of frames that the round has taken. */
  #roundBytes = 0
  /** Busy time and bytes of the rounds since a rate was last measured. */
  #busyNs: Nanos = 0
  #busyBytes = 0
  /** The greatest rates of this window and of the previous one. */
  #greatest = 0
  #greatestBefore = 0
  #windowEndsNs: Nanos = 0

  /**
   * @param lineRateBps of the host's link
   * @param budgetBytes see Port.receiveBudgetBytes
   */
  constructor(lineRateBps: number, budgetBytes: number) {
    this.#standing = new StandingQueue(budgetBytes)
    this.#lineRateBps = lineRateBps
    this.rateBps = lineRateBps
  }

  /** A round begins. */
  begin(now: Nanos): void {
    // Packets have waited since the last round.
    if (this.#waitingBytes > 0) this.#wasBusy(now)
    this.takenBytes += this.#roundBytes
    this.#roundBytes = 0
    this.#lastStampNs = this.stampNs || now
    this.stampNs = now
  }

  /** The round has taken frames of `bytes` in total, and `waitingBytes` still wait. */
  took(bytes: number, waitingBytes: number): void {
    this.#roundBytes = bytes
    const batch = Math.max((this.rateBps * BATCH_NS) / 8e9, PACKET_BYTES)
    const queue = waitingBytes + Math.max(0, bytes - batch)
    this.queueByteNs += this.#standing.sample(this.stampNs, queue) * (this.stampNs - this.#lastStampNs)
    this.#waitingBytes = waitingBytes
  }

  /**
   * A round that took frames is over. It was busy until now. If more frames wait, it is busy until the next
   * round.
   */
  end(now: Nanos): void {
    if (this.#waitingBytes === 0) this.#wasBusy(now)
  }

  /** True if `end` must be called. It needs a reading of the clock, which takes time. */
  get wantsEnd(): boolean {
    return this.#roundBytes > 0 && this.#waitingBytes === 0
  }

  /** Counts the time since the beginning of the round as busy. */
  #wasBusy(now: Nanos): void {
    this.#busyNs += now - this.stampNs
    this.#busyBytes += this.#roundBytes
    if (this.#busyBytes < SAMPLE_BYTES || this.#busyNs <= 0) return
    this.#measured(now, (this.#busyBytes * 8e9) / this.#busyNs)
    this.#busyBytes = this.#busyNs = 0
  }

  #measured(now: Nanos, rateBps: number): void {
    if (now >= this.#windowEndsNs) {
      this.#greatestBefore = this.#greatest
      this.#greatest = 0
      this.#windowEndsNs = now + WINDOW_NS
    }
    this.#greatest = Math.max(this.#greatest, rateBps)
    this.rateBps = Math.min(this.#lineRateBps, Math.max(this.#greatest, this.#greatestBefore))
  }
}
