import type { AckSample } from '../../cc/congestion-control.js'
import { NeedId } from '../../wire/weir/needs.js'

/** A need that is due counts as refused after so many round trips in a row that did not bring it. */
const ROUND_TRIPS = 8

const bit = (id: NeedId): number => 1 << id
/** These come with acknowledgements, whatever data collects. */
const ON_ACKS = bit(NeedId.TIME_STAMPS) | bit(NeedId.HOP_COUNT) | bit(NeedId.REVERSE_TELEMETRY)
const WATCHED = ON_ACKS | bit(NeedId.TELEMETRY) | bit(NeedId.PROBES) | bit(NeedId.RECEIVING_PART)
/** Windows stand for telemetry, which the receiving part uses up. */
const PART = bit(NeedId.RECEIVING_PART)
const IDS = Object.values(NeedId).filter(id => (WATCHED & bit(id)) !== 0)

/** Each time that a need breaks doubles the round trips in which it has to come until it counts as granted again, so often at most. */
const BREAKS_MAX = 8

/**
 * Whether the peer gives what it has granted. A need falls due by what this end sends: a packet that collects telemetry, a probe, a
 * request for windows; or by an acknowledgement, which was to bring it. It has to come in that round trip or the next one. If packets
 * were lost in either, the answer may have been lost too: that round trip does not count.
 *
 * Round trips are those of data that is acknowledged for the first time, so a peer that is silent, or refuses a packet, breaks nothing.
 * Word of CE marks, CNPs and how often acknowledgements come are not watched: that there are none does not show that there should be.
 */
export class Promises {
  /** Bits by id. What is due and what has come: in this round trip, and in the last one. */
  #due = 0
  #dueBefore = 0
  #given = 0
  #givenBefore = 0
  /** Packets were lost in this round trip, and in the last one. */
  #lossy = false
  #lossyBefore = false
  /** By id: round trips in a row in which a need was due and did not come. Made when the first does not come. */
  #missed: Uint8Array | null = null
  /** The round trip ends with the acknowledgement of this transmission. */
  #endSeq = 0
  /** Made when the first need breaks, which hardly any does. */
  #broken: BrokenNeeds | null = null

  /** What the peer has granted and does not give: bits by id. */
  get broken(): number {
    return this.#broken === null ? 0 : this.#broken.bits
  }

  /** This end has sent what the peer is to answer. */
  fallsDue(id: NeedId): void {
    this.#due |= bit(id)
  }

  /** An ACK or SACK has come, whether or not it brings anything. */
  onAcknowledgement(): void {
    this.#due |= ON_ACKS
  }

  /** The peer has given this. */
  onGiven(id: NeedId): void {
    this.#given |= bit(id)
  }

  /** Packets of this end were lost. */
  onLoss(): void {
    this.#lossy = true
  }

  /** Data was acknowledged for the first time. @param granted what the peer is to give: bits by id */
  onProgress({ seq, sndNxt }: AckSample, granted: number): void {
    if (seq < this.#endSeq) return
    this.#endSeq = sndNxt
    const given = this.#given | this.#givenBefore
    const promised = (granted & PART) === 0 ? granted : granted & ~bit(NeedId.TELEMETRY)
    const missing = this.#lossy || this.#lossyBefore ? 0 : this.#dueBefore & ~given & promised
    this.#broken?.onRoundTrip(this.#given)
    if (missing !== 0 || this.#missed !== null) this.#count(given, missing)
    this.#dueBefore = this.#due
    this.#givenBefore = this.#given
    this.#lossyBefore = this.#lossy
    this.#due = 0
    this.#given = 0
    this.#lossy = false
  }

  #count(given: number, missing: number): void {
    this.#missed ??= new Uint8Array(NeedId.PROBES + 1)
    const missed = this.#missed
    for (const id of IDS) {
      if ((given & bit(id)) !== 0) missed[id] = 0
      else if ((missing & bit(id)) !== 0 && ++missed[id]! >= ROUND_TRIPS) {
        missed[id] = 0
        this.#broken ??= new BrokenNeeds()
        this.#broken.add(id)
      }
    }
  }
}

/** Needs that were granted and did not come, until they come again for some round trips. */
class BrokenNeeds {
  /** Bits by id. */
  bits = 0
  /** By id: how often it has broken, and in how many round trips it has come since. */
  readonly #breaks = new Uint8Array(NeedId.PROBES + 1)
  readonly #came = new Uint16Array(NeedId.PROBES + 1)

  add(id: NeedId): void {
    this.bits |= bit(id)
    this.#breaks[id] = Math.min(BREAKS_MAX, this.#breaks[id]! + 1)
    this.#came[id] = 0
  }

  /** @param given what came in this round trip: bits by id */
  onRoundTrip(given: number): void {
    for (const id of IDS) {
      if ((this.bits & given & bit(id)) === 0) continue
      if (++this.#came[id]! < ROUND_TRIPS << (this.#breaks[id]! - 1)) continue
      // While windows came and nobody took them, no telemetry did.
      this.bits &= id === NeedId.RECEIVING_PART ? ~(PART | bit(NeedId.TELEMETRY)) : ~bit(id)
    }
  }
}
