import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import { StandingQueue } from './standing-queue.js'

/**
 * Bytes of busy rounds over which a rate is measured: a single round shows the grain of the clock, and what else ran
 * on the core.
 */
const SAMPLE_BYTES = 64 * 1024
/** Hosts take packets in batches by nature: only what exceeds a batch of this length counts as a queue. */
const BATCH_NS: Nanos = 250_000
/** A packet of 4 KiB with all its headers: one that has come is no queue, however short a batch is on a slow line. */
const PACKET_BYTES = 4096 + 512
/** The greatest rate counts that was measured within the last one to two windows. */
const WINDOW_NS: Nanos = 100 * MILLISECOND

/**
 * How well a host keeps up with what arrives, as seen by the loop that takes it in: one snapshot a round, which the
 * NIC reports to senders as the path's last hop.
 *
 * The rate is that at which the host can take packets in: bytes per busy time. A round is busy from its first frame
 * to its end, and up to the next round if more frames waited by then (queueing theory's busy period), so whatever
 * else the thread does counts while packets wait. The result is the greatest of these rates in the last 100 to 200 ms, as
 * BBR takes the greatest delivery rate of the last rounds for the bottleneck's (draft-ietf-ccwg-bbr, section on
 * BBR.max_bw). A mean would fall with every moment for which the process did not run; a sender held to that would
 * make rounds shorter, and the mean smaller still. What the host cannot keep up with shows as its queue.
 */
export class Intake {
  /** When the last round began. */
  stampNs: Nanos = 0
  /** Bytes of all frames taken in before it. */
  takenBytes = 0
  /**
   * The queue, integrated over time: the difference of two such values, divided by the time between, is the mean
   * queue. The queue is what still waits when a round has taken its frames, plus what the round took beyond BATCH_NS
   * worth of work and beyond one packet; and of that only what stays (StandingQueue).
   */
  queueByteNs = 0
  /** Bit/s, at most the line rate; the line rate until it has been measured. */
  rateBps: number
  readonly #lineRateBps: number
  readonly #standing: StandingQueue
  #waitingBytes = 0
  #lastStampNs: Nanos = 0
  /** Bytes of frames that the round has taken. */
  #roundBytes = 0
  /** The busy time and bytes of the rounds since a rate was last measured. */
  #busyNs: Nanos = 0
  #busyBytes = 0
  /** The greatest rates of this window and of the one before. */
  #greatest = 0
  #greatestBefore = 0
  #windowEndsNs: Nanos = 0

  /** @param lineRateBps of the host's link; @param budgetBytes as Port.receiveBudgetBytes */
  constructor(lineRateBps: number, budgetBytes: number) {
    this.#standing = new StandingQueue(budgetBytes)
    this.#lineRateBps = lineRateBps
    this.rateBps = lineRateBps
  }

  /** A round begins. */
  begin(now: Nanos): void {
    // Packets were waiting all the time since the last round.
    if (this.#waitingBytes > 0) this.#wasBusy(now)
    this.takenBytes += this.#roundBytes
    this.#roundBytes = 0
    this.#lastStampNs = this.stampNs || now
    this.stampNs = now
  }

  /** The round has taken frames of so many bytes, and so many still wait. */
  took(bytes: number, waitingBytes: number): void {
    this.#roundBytes = bytes
    const batch = Math.max((this.rateBps * BATCH_NS) / 8e9, PACKET_BYTES)
    const queue = waitingBytes + Math.max(0, bytes - batch)
    this.queueByteNs += this.#standing.sample(this.stampNs, queue) * (this.stampNs - this.#lastStampNs)
    this.#waitingBytes = waitingBytes
  }

  /** The round, which took something, is over. It was busy until now, unless more waits: then until the next round. */
  end(now: Nanos): void {
    if (this.#waitingBytes === 0) this.#wasBusy(now)
  }

  /** True if `end` is to be called: it needs a reading of the clock, which costs. */
  get wantsEnd(): boolean {
    return this.#roundBytes > 0 && this.#waitingBytes === 0
  }

  /** Counts the time from the beginning of the round until now as busy. */
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
