import type { Nanos } from '../../time/nanos.js'
import { bytesBetween } from '../queues/send-queue.js'
import type { Outbound } from '../recovery/outbound.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'

const NO_SEQ = Number.NEGATIVE_INFINITY
/** An answer within this part of the least round trip is to the first transmission. T is worked out for packets with telemetry: others are quicker. */
const EARLY = 3 / 4

/**
 * Silence, after which the requester has gone back: it lasts until the peer answers. The answer says whether what the requester
 * took for lost had been in flight (RFC 5682, RFC 3522).
 *
 * After an outage the peer may have packets whose acknowledgements were lost, and its answer to a retransmission names them all. A peer with
 * selective repeat says that this retransmission has reached it twice. So it answers what left last, and what it does not name was lost.
 * A tail probe from before the silence may have reached it twice as well. That is what it speaks of if it answers sooner after the retransmission
 * than any round trip takes.
 */
export class Silence {
  readonly #outbound: Outbound
  /** The requester has not gone back, or all that it had sent by then is acknowledged: nothing is to be judged. */
  isClear = true
  /** The requester has gone back after silence, and the peer has not answered since. */
  #lasts = false
  /** The peer has said so since: a retransmission has reached it that it had already. */
  #answersRepeat = false
  /** What was taken for lost had been in flight. */
  #refuted = false
  /** The requester last went back after silence. (A NAK would say that a go-back-N peer has dropped what follows.) */
  #wentBack = false
  /** PSNs before this one had been sent when the requester last went back. */
  #wentBackSeq = NO_SEQ
  /** An early answer was believed. And: silence has followed one, so no further one is believed until all that was sent before is acknowledged. */
  #believedEarly = false
  #doubtsEarly = false

  constructor(outbound: Outbound) {
    this.#outbound = outbound
  }

  get lasts(): boolean {
    return this.#lasts
  }

  /** The peer has answered. */
  onHeard(): void {
    this.#lasts = false
  }

  /** The peer says that what has been retransmitted had arrived. */
  onArrivedTwice(now: Nanos): void {
    const { sndUna, sendSeq } = this.#outbound
    if (sendSeq > sndUna && !this.#isEarly(now, sndUna)) this.#answersRepeat = true
  }

  /** The requester goes back, for whatever reason. */
  onGoingBack(): void {
    this.isClear = false
    this.#wentBackSeq = this.#outbound.sndNxt
  }

  /** Everything in flight is taken for lost. @param bySilence false: a NAK says so */
  onAllLost(bySilence: boolean): void {
    // Silence once more: what was taken to be in flight was lost, and the early answer was to the retransmission.
    if (bySilence && this.#believedEarly) this.#doubtsEarly = true
    this.#believedEarly = false
    this.isClear = false
    this.#lasts = bySilence
    this.#answersRepeat = false
    this.#wentBack = bySilence
  }

  /** The peer has no receive posted: what it has dropped says nothing of what is in flight. */
  onReceiverNotReady(): void {
    this.#wentBack = false
  }

  /** The packets before `until` are about to be acknowledged: decides, after silence, whether they had been in flight. */
  judge(now: Nanos, selective: SelectiveRepeat | null, until: number): void {
    if (!this.#lasts || this.#answersRepeat) return
    const { sndUna, sendSeq } = this.#outbound
    if (this.#namesUnrepeated(selective, until)) this.#refuted = true
    else if (!this.#doubtsEarly && sendSeq > sndUna && this.#isEarly(now, sndUna)) {
      this.#refuted = true
      this.#believedEarly = true
    }
  }

  /** The same with go-back-N, for the count of what was retransmitted needlessly: an early answer is to the first transmission. */
  countEarly(now: Nanos, until: number): void {
    const { sndUna, spurious } = this.#outbound
    if (!this.#wentBack || sndUna >= this.#wentBackSeq) return
    for (let seq = sndUna; seq < until; seq++) if (this.#isEarly(now, seq)) spurious.onEarly()
  }

  /** Something new is acknowledged. True, once, if what was taken for lost had been in flight. */
  endRefuted(): boolean {
    const refuted = this.#refuted
    this.#lasts = false
    this.#refuted = false
    if (this.#outbound.sndUna >= this.#wentBackSeq) {
      this.#believedEarly = false
      this.#doubtsEarly = false
      this.isClear = true
    }
    return refuted
  }

  /** True if a packet before `until` has not been retransmitted and was not known to have arrived: it had not been lost (RFC 5682). */
  #namesUnrepeated(selective: SelectiveRepeat | null, until: number): boolean {
    for (let seq = this.#outbound.sendSeq; seq < until; seq++) if (!selective?.isTold(seq)) return true
    return false
  }

  /** True if the packet was retransmitted, and its answer comes sooner after the retransmission than any round trip takes (RFC 3522). */
  #isEarly(now: Nanos, seq: number): boolean {
    const { log, trips } = this.#outbound
    return log.has(seq) && log.wasRepeated(seq) && now - log.sentNs(seq) < EARLY * trips.floorNs
  }
}

/**
 * Takes back that the requester went back: what it sent before is still in flight. If some of that is lost, the usual
 * rules find it.
 */
export function goForward(outbound: Outbound, selective: SelectiveRepeat | null): void {
  const { context, sndNxt } = outbound
  const queue = context.sendQueue
  for (; outbound.sendSeq < sndNxt; outbound.sendIndex++) {
    const slot = queue.at(outbound.sendIndex)
    if (slot.awaitsResponse) {
      outbound.awaitResponse(slot)
      continue
    }
    const end = Math.min(slot.lastSeq + 1, sndNxt)
    for (; outbound.sendSeq < end; outbound.sendSeq++) {
      const seq = outbound.sendSeq
      if (selective?.isSacked(seq)) continue
      outbound.inFlightBytes += bytesBetween(slot, seq, seq + 1, context.settings.pathMtu)
    }
    if (end <= slot.lastSeq) break
  }
  selective?.judgeAnew()
}
