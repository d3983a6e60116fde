import { type Nanos, NEVER } from '../../time/nanos.js'
import type { RoundTrips } from './round-trips.js'

/** RFC 8985, section 6.2, step 4: a widened window is kept for so many recoveries. */
const WIDE_RECOVERIES = 16
/** Quarters of the least round trip: as Linux (tcp_recovery.c). The RFC has no such bound beside the smoothed round trip. */
const WIDTH_MAX = 255

/**
 * What the arrival of one packet says of packets sent before it (RFC 8985, section 6.2: RACK). A packet is lost when
 * one that was sent later has arrived, and the reordering window has passed since it should have arrived as well.
 * "Later" is by transmissions, which are numbered: so the same rule finds a retransmitted packet lost again.
 *
 * | situation | reordering window |
 * |---|---|
 * | no packet has ever been overtaken, and either three have arrived out of order or a recovery is under way | 0 |
 * | otherwise | a quarter of the least round trip, times n, at most a smoothed round trip |
 *
 * n grows by one, at most once a round trip, when the peer says that a packet arrived twice, and is 1 again after 16
 * recoveries without that.
 *
 * Where this differs from the RFC: transmissions that leave at one moment are ordered by their number; before a
 * round trip has been measured time alone shows no loss, and the tail probe finds it.
 */
export class Rack {
  /** The latest transmission known to have arrived, -1 = none. */
  newestNumber = -1
  /** Its round trip, or more where it may have been an earlier transmission that arrived. */
  #newestRttNs: Nanos = 0
  /** The round trip of the latest one that was of a packet sent once. */
  #onceRttNs: Nanos = 0
  /**
   * Transmissions before this one left before a silence. Their acknowledgements may have been lost, and the answer to a retransmission names
   * them: an outage is no round trip.
   */
  #sinceNumber = 0
  /** A transmission that was sent although its packet was not taken for lost, -1 = none: see `onArrived`. */
  doubtfulNumber = -1
  /** The latest packet that was sent once and has arrived. */
  #furthestNumber = -1
  #reordered = false
  #width = 1
  #wideRecoveries = 0
  /** A report of packets that arrived twice counts only once this transmission has been answered. */
  #widenAfter = -1
  readonly #trips: RoundTrips

  constructor(trips: RoundTrips) {
    this.#trips = trips
  }

  /**
   * The latest transmission of a packet is known to have arrived.
   *
   * A tail probe that repeats the first missing packet is doubtful evidence. Where a queue has grown to many round trips, the
   * original is answered, and what was sent between the two is still in flight. RFC 8985 probes with the last packet
   * alone, whose answer comes behind those of all others.
   *
   * A repeat that is answered in less than half of the last round trip may not be what has arrived either: the original was overtaken, and
   * comes while what was sent between the two waits in the queue. RFC 8985 tells by time stamps. Here what was sent between them
   * has two of those round trips, as a queue at most doubles in one. If a queue has drained and the repeat has arrived, losses show that much later.
   */
  onArrived(now: Nanos, number: number, sentNs: Nanos, repeated: boolean): void {
    const rttNs = now - sentNs
    // The answer came too soon: it is the earlier transmission that has arrived (section 6.2, step 2).
    if (repeated && (rttNs < this.#trips.floorNs || number === this.doubtfulNumber)) return
    if (!repeated) {
      if (number < this.#furthestNumber) this.#reordered = true
      else this.#furthestNumber = number
    }
    if (number <= this.newestNumber) return
    this.newestNumber = number
    if (!repeated && number >= this.#sinceNumber) this.#onceRttNs = rttNs
    this.#newestRttNs = repeated && this.isSoon(now, number, sentNs) ? 2 * this.#onceRttNs : rttNs
  }

  /** An answer to that retransmission would come in less than half of the last round trip: the original may have come (see `onArrived`). */
  isSoon(now: Nanos, number: number, sentNs: Nanos): boolean {
    return number !== this.doubtfulNumber && 2 * (now - sentNs) < this.#onceRttNs
  }

  /** The requester goes back. @param sent transmissions so far */
  onGoingBack(sent: number): void {
    this.#sinceNumber = sent
  }

  /** Going back was needless: what was sent before is answered only now. */
  onGoingForward(): void {
    this.#sinceNumber = 0
  }

  /** Packets have arrived twice: the window was too short. @param sent transmissions so far */
  onDuplicates(sent: number): void {
    if (this.newestNumber < this.#widenAfter) return
    this.#widenAfter = sent
    this.#width = Math.min(WIDTH_MAX, this.#width + 1)
    this.#wideRecoveries = WIDE_RECOVERIES
    this.#reordered = true
  }

  /** A recovery begins. */
  onRecovery(): void {
    if (this.#wideRecoveries > 0 && --this.#wideRecoveries === 0) this.#width = 1
  }

  /**
   * The reordering window; NEVER = nothing is lost by time yet.
   * @param certain three packets have arrived out of order, or a recovery is under way
   */
  windowNs(certain: boolean): Nanos {
    if (certain && !this.#reordered) return 0
    const { floorNs, srttNs } = this.#trips
    if (floorNs === 0) return NEVER
    const windowNs = Math.ceil((this.#width * floorNs) / 4)
    return srttNs > 0 ? Math.min(windowNs, srttNs) : windowNs
  }

  /** When a packet sent at `sentNs`, before one that has arrived, is lost. */
  lostNs(sentNs: Nanos, windowNs: Nanos): Nanos {
    return sentNs + this.#newestRttNs + windowNs
  }
}
