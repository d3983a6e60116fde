import type { Nanos } from '../../time/nanos.js'
import type { WorkStatus } from '../queues/work-status.js'

/** Follows what a queue pair sends and receives. Called from within `onPacket` and `onTimeout`; may post work. */
export interface QpObserver {
  /**
   * An ACK, NAK or response came that acknowledges something, or repeats what was known.
   * @param seq unwrapped PSN of the last request packet that it acknowledges, of those not known to have arrived
   * @param newlyAckedBytes payload bytes of requests, 0 when it repeats
   */
  onAcked(now: Nanos, seq: number, newlyAckedBytes: number): void
  /**
   * Something was lost and will be retransmitted: everything from `sndUna` on, or with selective repeat what was found
   * missing. Not called after an RNR NAK: there nothing was lost.
   * @param lostBytes payload bytes that were in flight, or of the missing packets; 0 for READs and their responses
   * @param newestSeq unwrapped PSN of the lost packet with payload that was sent last, as far as the peer has said; after a
   * timeout `sndUna`, though all that was in flight is taken for lost
   */
  onRetransmit(now: Nanos, lostBytes: number, byTimeout: boolean, newestSeq: number): void
  /** What the last `onRetransmit` spoke of had arrived: nothing was lost. */
  onSpurious(now: Nanos): void
  /**
   * A READ of the peer shows that it has received all responses up to `seq`: it would have one more outstanding than it may
   * (IBA 9.7.4.1), or it requests the READ again from there on (9.7.6).
   */
  onAnswersTaken(now: Nanos, seq: number): void
  /**
   * The probe timeout has passed, and no round trip has been measured. True: the observer sends the peer a question, a WRITE of no
   * bytes with a PSN that the peer has had. The peer acknowledges it and counts it as a packet that has arrived twice. False: it
   * cannot, and the queue pair repeats a packet.
   */
  onUnanswered(now: Nanos): boolean
  /** The queue pair has gone into error; all its work has been flushed. */
  onError(now: Nanos, status: WorkStatus): void
}
