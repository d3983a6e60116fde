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

/**
 * Whether the peer gives what it has granted. A need falls due by what this end sends: a packet that collects telemetry, a probe, a
 * request for windows; or by an acknowledgement, which was to bring it. It has to come in that round trip or the next one.
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
  /** By id: round trips in a row in which a need was due and did not come. */
  readonly #missed = new Uint8Array(NeedId.PROBES + 1)
  /** The round trip ends with the acknowledgement of this transmission. */
  #endSeq = 0

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

  /** Data was acknowledged for the first time. Returns what the peer does not give. @param granted, as the result: bits by id */
  onProgress({ seq, sndNxt }: AckSample, granted: number): number {
    if (seq < this.#endSeq) return 0
    this.#endSeq = sndNxt
    const given = this.#given | this.#givenBefore
    const promised = (granted & PART) === 0 ? granted : granted & ~bit(NeedId.TELEMETRY)
    const missing = this.#dueBefore & ~given & promised
    let broken = 0
    for (const id of IDS) {
      if ((given & bit(id)) !== 0) this.#missed[id] = 0
      else if ((missing & bit(id)) !== 0 && ++this.#missed[id]! >= ROUND_TRIPS) broken |= bit(id)
    }
    this.#dueBefore = this.#due
    this.#givenBefore = this.#given
    this.#due = 0
    this.#given = 0
    return broken
  }
}
