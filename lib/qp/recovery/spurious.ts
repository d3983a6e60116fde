import type { QpContext } from '../context/context.js'
import type { LateOriginals } from './late-originals.js'

/** The peer's count of packets that arrived twice travels in so many bits. */
const COUNT_MASK = 0x7f
const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * Which packets were retransmitted although they had not been lost. A peer with selective repeat says how many packets have reached it twice (as
 * DSACK does, RFC 2883); as the network can duplicate packets too, no more of them count than were retransmitted since. With
 * other peers an answer shows it that comes sooner after a retransmission by timeout than any round trip takes (RFC 3522). Such a
 * peer has dropped the packet that it names in a NAK, and all behind it.
 *
 * A recovery was spurious when everything that it retransmitted had arrived (as in RFC 3708, section 3), or when after a timeout
 * packets are acknowledged that have not been retransmitted (RFC 5682). Then the controller takes its reduction back.
 *
 * The peer's count comes a round trip after a retransmission, and the next recovery may have begun by then. Sooner comes what was
 * overtaken: the original. Where each retransmitted packet of a recovery has an original that has come, the recovery ends at once (as in RFC 4015,
 * section 3, which knows originals by time stamps; late-originals.ts).
 */
export class Spurious {
  /** The first transmission of the last recovery. */
  recoveryNumber = 0
  readonly #context: QpContext
  /** The peer's last count. */
  #told = 0
  /** Retransmitted, and not reported to have arrived twice; forgotten once a packet is answered that left after the last of them. */
  #open = 0
  #openUntilSeq = NO_SEQ
  /** Retransmitted packets that may have been lost, in a recovery that may turn out to be spurious; and the PSN that ends it. */
  #needed = 0
  #recovering = false
  #recoverySeq = NO_SEQ
  /** Retransmissions whose originals have come: the peer will count each as a packet that has arrived twice. */
  #awaited = 0
  /** In this recovery an original has come. */
  #originalCame = false

  constructor(context: QpContext) {
    this.#context = context
  }

  /** No recovery is under way, and nothing that was retransmitted may still arrive twice. */
  get isClear(): boolean {
    return !this.#recovering && this.#open === 0
  }

  /** A recovery begins, unless one is under way: everything before `sndNxt` has been sent. */
  begin(sndUna: number, sndNxt: number): void {
    if (sndUna < this.#recoverySeq) return
    this.#recovering = true
    this.#recoverySeq = sndNxt
    this.#needed = 0
    this.#originalCame = false
    this.recoveryNumber = this.#context.transmissions
  }

  /** A packet is retransmitted. */
  onRepeat(sndNxt: number): void {
    this.#open++
    this.#openUntilSeq = sndNxt
    if (this.#recovering) this.#needed++
  }

  /** An acknowledgement has shown which originals have come. */
  onOriginals({ packets, ofRecovery, foundLost }: LateOriginals): void {
    this.#awaited = Math.min(this.#open, this.#awaited + packets)
    this.#needed = Math.max(0, this.#needed - ofRecovery)
    if (ofRecovery > 0 || foundLost) this.#originalCame = true
  }

  /** The peer's last count was the same. */
  isTold(count: number): boolean {
    return this.#told === count
  }

  /** The peer says how many packets have arrived twice, modulo 2^7. Returns by how many that is more. */
  onCount(count: number): number {
    const more = (count - this.#told) & COUNT_MASK
    // An older answer that was overtaken.
    if (more === 0 || more > COUNT_MASK / 2) return 0
    this.#told = count
    return more
  }

  /** So many more packets have arrived twice. Returns how many of them this end has sent twice. */
  onTwice(packets: number): number {
    return packets === 0 ? 0 : this.#count(Math.min(packets, this.#open))
  }

  /** An answer came too soon to answer the retransmission. */
  onEarly(): void {
    this.#count(Math.min(1, this.#open))
  }

  /** A response has come that had come before. False if none has been requested again: the network has duplicated it. */
  onResponseTwice(bytes: number): boolean {
    if (this.#open === 0) return false
    this.#context.counters.spuriousPackets++
    this.#context.counters.spuriousBytes += bytes
    return true
  }

  #count(packets: number): number {
    const { counters, settings } = this.#context
    const known = Math.min(packets, this.#awaited)
    // Repeats arrive in the order in which they left: first those from before the recovery.
    const before = this.#open - this.#awaited - this.#needed
    this.#open -= packets
    this.#awaited -= known
    this.#needed = Math.min(this.#needed, this.#needed + before - (packets - known))
    counters.spuriousPackets += packets
    const bytes = counters.spuriousBytes + packets * settings.pathMtu
    counters.spuriousBytes = Math.min(counters.retransmittedBytes, bytes)
    return packets
  }

  /** True, once, if originals have come of all that the recovery under way has retransmitted. It ends with that. */
  takeRefuted(): boolean {
    const refuted = this.#recovering && this.#originalCame && this.#needed === 0
    return refuted && this.refute()
  }

  /** Everything before `sndUna` is answered. True, once, if the recovery that it ends was spurious. */
  concludes(sndUna: number): boolean {
    const spurious = this.#recovering && this.#needed === 0 && sndUna >= this.#recoverySeq
    if (spurious) this.#recovering = false
    if (this.#open > 0 && sndUna > this.#openUntilSeq) {
      this.#open = 0
      this.#awaited = 0
      if (this.#needed > 0) this.#recovering = false
      this.#needed = 0
    }
    return spurious
  }

  /** True, once, if a recovery is under way; it was spurious. */
  refute(): boolean {
    const refuted = this.#recovering
    this.#recovering = false
    this.#recoverySeq = NO_SEQ
    return refuted
  }
}
