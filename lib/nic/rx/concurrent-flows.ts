/**
 * N: the flows that have data outstanding towards this host now, as the receiver reports it (draft-miao-rtgwg-hpccplus, section on
 * receiver-based HPCC).
 *
 * The data itself shows it, so this holds for every RoCEv2 peer. A flow is open from the first packet of a message until the
 * whole message has arrived; a missing packet keeps it open. Another message may follow a whole one, so the flow counts for two more
 * round trips; with FNCC for one.
 */
import { double } from '../../double.js'
import { unwrapPsn } from '../../qp/queues/psn.js'
import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import type { Flow } from '../flow/flow.js'

/** A flow that is silent for so long within a message no longer counts: its host may be gone. */
const OPEN_SILENCE_NS = double(100 * MILLISECOND)
/** A flow counts for so many round trips behind a whole message. */
const MORE_WITHIN_ROUND_TRIPS = 2
/** The same where acknowledgements collect telemetry of the data's way: FNCC divides the last link by N at once, so N is of now. */
const MORE_WITHIN_ROUND_TRIPS_NOW = 1
/** The same where no round trip is known. */
const MORE_WITHIN_NS = double(10 * MILLISECOND)
/** Flows that each packet looks at, so that no packet looks at all of them. */
const LOOKS = 8

export class ConcurrentFlows {
  /** Flows that count, and until when. */
  readonly #flows: Flow[] = []
  readonly #untilNs: Float64Array
  /** Where to look next. */
  #next = 0
  readonly #slackNs: Nanos
  /** By a flow's index: its place among those that count, -1 = it does not. */
  readonly #at: Int32Array
  /** Last packet of the last message of which the peer has sent that packet, and newest packet with payload; unwrapped, -1 = none. */
  readonly #endSeq: Float64Array
  readonly #topSeq: Float64Array

  /** @param slackNs by which hosts may be late: as long as that a flow counts at least; @param capacity the table's size */
  constructor(slackNs: Nanos, capacity: number) {
    this.#slackNs = slackNs
    this.#untilNs = new Float64Array(capacity)
    this.#at = new Int32Array(capacity).fill(-1)
    this.#endSeq = new Float64Array(capacity).fill(-1)
    this.#topSeq = new Float64Array(capacity).fill(-1)
  }

  /** The queue pair has taken a packet of the flow with payload. @param ends the packet is the last one of a message */
  onData(now: Nanos, flow: Flow, psn: number, ends: boolean, ofResponse: boolean): void {
    const { index } = flow
    if (this.#at[index]! < 0) {
      this.#at[index] = this.#flows.length
      this.#flows.push(flow)
    }
    const isOpen = ofResponse ? !ends : !this.#isWhole(flow, psn, ends)
    this.#untilNs[this.#at[index]!] = now + (isOpen ? OPEN_SILENCE_NS : this.#moreWithinNs(flow))
    this.#look(now)
  }

  /** The connection is over. */
  end(flow: Flow): void {
    this.#remove(flow)
    this.#endSeq[flow.index] = -1
    this.#topSeq[flow.index] = -1
  }

  #remove({ index }: Flow): void {
    const at = this.#at[index]!
    if (at < 0) return
    this.#at[index] = -1
    const last = this.#flows.pop()!
    const untilNs = this.#untilNs[this.#flows.length]!
    if (last.index === index) return
    this.#flows[at] = last
    this.#untilNs[at] = untilNs
    this.#at[last.index] = at
  }

  /** The flow counted when data last came. */
  counts({ index }: Flow): boolean {
    return this.#at[index]! >= 0
  }

  /** N when data last came. */
  get count(): number {
    return this.#flows.length
  }

  #moreWithinNs(flow: Flow): Nanos {
    const tNs = flow.receiver.control?.baseRttNs ?? (flow.stats.baseRttNs || flow.handshake.roundTripNs)
    const { reverse } = flow.receiver
    const roundTrips = reverse === 'data-way' ? MORE_WITHIN_ROUND_TRIPS_NOW : MORE_WITHIN_ROUND_TRIPS
    return tNs > 0 ? Math.max(this.#slackNs, roundTrips * tNs) : MORE_WITHIN_NS
  }

  /** Takes out flows whose time is over, a few at a time. */
  #look(now: Nanos): void {
    for (let looks = Math.min(LOOKS, this.#flows.length); looks > 0; looks--) {
      if (this.#next >= this.#flows.length) this.#next = 0
      if (this.#untilNs[this.#next]! < now) this.#remove(this.#flows[this.#next]!)
      else this.#next++
    }
  }

  /** True if all that the peer has sent up to now has arrived, and the last of it ends a message. */
  #isWhole({ index, qp }: Flow, psn: number, ends: boolean): boolean {
    const next = qp.nextReceiveSeq
    const seq = unwrapPsn(psn, next)
    if (seq > this.#topSeq[index]!) this.#topSeq[index] = seq
    const end = Math.max(this.#endSeq[index]!, ends ? seq : -1)
    this.#endSeq[index] = end
    // Requests without payload, as READs, may lie behind it.
    return end === this.#topSeq[index] && this.#topSeq[index]! < next
  }
}
