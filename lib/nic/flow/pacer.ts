import { DOUBLE_0 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'

/**
 * The pacing clock of a flow: the next packet may leave when the last one's bytes have taken their time at the
 * current rate. Where runs are allowed, the packets of a run leave together, and the next run when their bytes have taken
 * their time: sender, switches and receiver wake once for several packets, and the rate is the same.
 */
export class Pacer {
  /** Packets that may leave in a run; 1 = each leaves at its own time. */
  runPackets = 1
  /** As many of them leave together whatever time they take. */
  runPacketsLeast = 1
  readonly #slackNs: Nanos
  readonly #runNs: Nanos
  /** Not a whole number of nanoseconds. */
  #fromNs = DOUBLE_0
  #bytes = 0
  /** When the first packet of the run left, and the packets that may follow it. */
  #runFromNs = DOUBLE_0
  #runLeft = 0
  #runSent = 0

  /**
   * @param slackNs lateness that is made up for, ns
   * @param runNs time at the current rate that the packets of a run take at most, ns
   */
  constructor(slackNs: Nanos, runNs: Nanos) {
    this.#slackNs = slackNs
    this.#runNs = runNs
  }

  nextSendNs(rateBps: number): Nanos {
    const due = this.#exactNs(rateBps)
    const goesOn = this.runPackets > 1 && this.#runLeft > 0 && this.#fits(due, rateBps)
    return goesOn ? this.#runFromNs : Math.ceil(due)
  }

  /** The run has room for a packet that is due then. It is taken to be as long as the last one. */
  #fits(due: number, rateBps: number): boolean {
    const runEnds = due + (this.#bytes * 8e9) / rateBps
    return this.#runSent < this.runPacketsLeast || runEnds <= this.#runFromNs + this.#runNs
  }

  /** Not rounded to whole nanoseconds, so that rounding errors do not add up over packets. */
  #exactNs(rateBps: number): number {
    return this.#fromNs + (this.#bytes * 8e9) / rateBps
  }

  /** A packet of so many bytes on the wire leaves. */
  onSent(now: Nanos, rateBps: number, wireBytes: number): void {
    const due = this.#exactNs(rateBps)
    // A loop that woke late may make up for a little of it, so that its rate is kept. Less than a nanosecond is not
    // lateness but the rounding of nextSendNs.
    this.#fromNs = now - due < this.#slackNs + 1 ? due : now - this.#slackNs
    this.#bytes = wireBytes
    if (due > now) {
      this.#runLeft--
      this.#runSent++
      return
    }
    this.#runFromNs = now
    this.#runLeft = this.runPackets - 1
    this.#runSent = 1
  }

  /**
   * As many further packets of so many bytes leave together as may leave now, at most `packets`; returns how many. The clock moves
   * as it does when they leave one by one.
   */
  onRun(now: Nanos, rateBps: number, wireBytes: number, packets: number): number {
    let sent = 0
    for (; sent < packets && this.nextSendNs(rateBps) <= now; sent++) this.onSent(now, rateBps, wireBytes)
    return sent
  }
}
