/** So many packets in a row, sent before a retransmission, are not lost while it arrives. */
const OVERTAKEN_MOST = 16
const NONE = -1

/**
 * Which retransmitted packets had only been overtaken: what has come is the original. RFC 4015 and RFC 8985, section 6.2, tell by time
 * stamps. Here the order in which packets come tells. What left just before a retransmission comes before it, or is
 * lost. So where more than `OVERTAKEN_MOST` transmissions before it are not known to have come, and less than half of a round trip has passed, the
 * original has come.
 *
 * An acknowledgement may name many packets. They are judged once all of it has been taken in.
 */
export class LateOriginals {
  /** Retransmissions whose originals have come by the last acknowledgement, and how many of them are of the recovery under way. */
  packets = 0
  ofRecovery = 0
  /** By it a packet has come that was taken for lost, and had not been retransmitted. */
  foundLost = false
  /** The latest transmission that has come without a doubt, or that left after silence. */
  #newestNumber = NONE
  /** Retransmissions that may not be what has come. */
  readonly #soon: number[] = []
  /** A packet has come that was taken for lost and had not been retransmitted. */
  #found = false

  /** The next acknowledgement has nothing to judge but what it names itself. */
  get isClear(): boolean {
    return this.#soon.length === 0 && !this.#found
  }

  /** That transmission has come without a doubt. */
  onArrived(number: number): void {
    this.#newestNumber = Math.max(this.#newestNumber, number)
  }

  /** Silence has passed, or a NAK has come: what left before that transmission may be lost, however much it is. Nothing of it is judged any more. */
  onSilence(number: number): void {
    this.onArrived(number)
    this.#soon.length = 0
  }

  /** A retransmitted packet has come, so soon that it may be the original. */
  onSoon(number: number): void {
    this.#soon.push(number)
  }

  /** A packet has come that was taken for lost, and was about to leave for the second time. */
  onFound(): void {
    this.#found = true
  }

  /**
   * An acknowledgement has been taken in: judges what it names.
   * @param fromNumber the first transmission of the recovery under way
   */
  judge(fromNumber: number): void {
    this.packets = 0
    this.ofRecovery = 0
    this.foundLost = this.#found
    this.#found = false
    if (this.#soon.length === 0) return
    // Those that left first are judged first: one that has come itself says so of the next.
    for (const number of this.#soon.sort((a, b) => a - b)) {
      if (number <= this.#newestNumber + OVERTAKEN_MOST) this.onArrived(number)
      else {
        this.packets++
        if (number >= fromNumber) this.ofRecovery++
      }
    }
    this.#soon.length = 0
  }
}
