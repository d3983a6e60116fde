import type { AckSample } from '../../cc/congestion-control.js'
import type { Nanos } from '../../time/nanos.js'
import { type Paced, ResponseFlight, type ResponseHearer } from './response-flight.js'
import type { Transmissions } from './transmissions.js'

/** READ responses count as in flight for at most so many T, apart from what a pause holds up. */
const QUIET_ROUND_TRIPS = 4

/** The READ responses of one flow: which of them ask for an answer, and how many may be in flight. */
export class SentResponses {
  readonly #sent: Transmissions
  readonly #packetsMax: number
  /** Made when the first one leaves. */
  #flight: ResponseFlight | null = null
  #askEvery = 0
  #unasked = 0

  /** @param packetsMax that may be in flight at a time, a power of two */
  constructor(sent: Transmissions, packetsMax: number) {
    this.#sent = sent
    this.#packetsMax = packetsMax
  }

  /** At least one has left. */
  get any(): boolean {
    return this.#flight !== null
  }

  /** One of so many asks the peer to answer it at once; 0 = none, and then none waits for the window. */
  set askEvery(packets: number) {
    this.#askEvery = packets
  }

  /** When they are taken to have arrived; nothing acknowledges them. */
  quietNs(baseRttNs: Nanos): Nanos {
    return this.#sent.lastResponseNs + QUIET_ROUND_TRIPS * baseRttNs
  }

  /**
   * They wait when as many are in flight as the window has room for. The pace alone holds them where all packets collect telemetry, as in
   * HPCC++, and where the peer answers none of them.
   */
  get areWindowed(): boolean {
    return this.#flight !== null && this.#askEvery > 0
  }

  /** Those in flight fill the window. Only where they have a window. */
  areHeld(allowedBytes: number): boolean {
    return this.#flight!.inFlightBytes >= allowedBytes
  }

  /** How many more may leave. Only where they have a window. */
  room(allowedBytes: number, packetBytes: number): number {
    return Math.max(0, Math.ceil((allowedBytes - this.#flight!.inFlightBytes) / packetBytes))
  }

  /** When those that wait are sent although nothing has come back. @param roundTripNs the last one */
  patienceEndsNs(roundTripNs: Nanos): Nanos {
    return this.#flight!.patienceEndsNs(roundTripNs)
  }

  giveUp(now: Nanos): void {
    this.#flight!.giveUp(now)
  }

  /** A response is about to leave. True if it is to be answered at once. @param collects it collects telemetry */
  asksForAnswer(collects: boolean): boolean {
    if (this.#askEvery === 0) return false
    this.#unasked++
    if (!collects && this.#unasked < this.#askEvery) return false
    this.#unasked = 0
    return true
  }

  /** As ResponseFlight. */
  onSent(now: Nanos, psn: number, bytes: number, hearer: ResponseHearer | null, baseRttNs: Nanos): boolean {
    this.#flight ??= new ResponseFlight(this.#packetsMax)
    return this.#flight.onSent(now, psn, bytes, this.#sent, hearer, baseRttNs)
  }

  /** As ResponseFlight. */
  presume(now: Nanos, roundTripNs: Nanos, windowBytes: number): void {
    this.#flight!.presume(now, roundTripNs, windowBytes)
  }

  /** As ResponseFlight. */
  onArrived(now: Nanos, sample: AckSample): void {
    this.#flight!.onArrived(now, sample)
  }

  /** As ResponseFlight. */
  onTaken(now: Nanos, sample: AckSample, bytes: number, control: Paced, baseRttNs: Nanos): void {
    this.#flight!.onTaken(now, sample, bytes, control, baseRttNs)
  }
}
