import { MILLISECOND, type Nanos } from '../time/nanos.js'
import { StandingQueue } from './standing-queue.js'

/** A rate is measured over so many bytes of busy rounds: single rounds tell of the clock, and of what else ran on the core. */
const SAMPLE_BYTES = 64 * 1024
/** That hosts take packets in batches is how they work: only of a longer batch is the rest a queue. */
const BATCH_NS: Nanos = 250_000
/** The greatest rate of at least so long, and at most twice that, counts. */
const WINDOW_NS: Nanos = 100 * MILLISECOND

/**
 * What a host takes in, as seen by the loop that takes it: one snapshot a round, which the NIC tells senders as the path's last hop.
 *
 * The rate is that at which the host can take packets in: bytes per time in which it was busy with them. A round is busy from its first frame to
 * its end, and up to the next one if more waited by then (a busy period of queueing theory), so what else the thread has to do counts as long as
 * packets wait for it. Of these rates the greatest of the last 100 to 200 ms counts, as BBR takes the greatest delivery rate of the last
 * rounds for the bottleneck's (draft-ietf-ccwg-bbr, section on BBR.max_bw): a mean would go down by every moment for which the process did not
 * run, and a sender that is held to it makes rounds short, and the mean smaller still. What the host cannot keep up shows as its queue.
 */
export class Intake {
  /** When the last round began. */
  stampNs: Nanos = 0
  /** Bytes of all frames taken in before it. */
  takenBytes = 0
  /**
   * The queue, summed over time: the difference of two such sums is the mean over the time between. The queue is what waited when a round had
   * taken its frames, and of these what it takes the host more than BATCH_NS to handle, as far as it stays.
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
    // Packets waited all the time since.
    if (this.#waitingBytes > 0) this.#wasBusy(now)
    this.takenBytes += this.#roundBytes
    this.#roundBytes = 0
    this.#lastStampNs = this.stampNs || now
    this.stampNs = now
  }

  /** The round has taken frames of so many bytes, and so many still wait. */
  took(bytes: number, waitingBytes: number): void {
    this.#roundBytes = bytes
    const batch = (this.rateBps * BATCH_NS) / 8e9
    const queue = waitingBytes + Math.max(0, bytes - batch)
    this.queueByteNs += this.#standing.sample(this.stampNs, queue) * (this.stampNs - this.#lastStampNs)
    this.#waitingBytes = waitingBytes
  }

  /** The round, which took something, is over; nothing waits. */
  end(now: Nanos): void {
    if (this.#waitingBytes === 0) this.#wasBusy(now)
  }

  /** True if `end` is to be told: it takes a look at the clock. */
  get wantsEnd(): boolean {
    return this.#roundBytes > 0 && this.#waitingBytes === 0
  }

  /** From the beginning of the round until now. */
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
