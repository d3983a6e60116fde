import type { ReceiverControl } from '../../cc/congestion-control.js'
import type { Frame } from '../../frame/frame.js'
import { MICROSECOND, type Nanos, NEVER } from '../../time/nanos.js'
import * as arrival from '../../wire/weir/arrival.js'
import * as delayedAck from '../../wire/weir/delayed-ack.js'
import { type Need, NeedId, TelemetryReturn } from '../../wire/weir/needs.js'
import { PathAnswers } from '../telemetry/path-answers.js'
import type { TelemetryEcho } from '../telemetry/telemetry-echo.js'
import { type Reverse, reverseOf } from './peer.js'

/** The peer asks for no windows. */
const NO_PART = -1
/** A peer that says nothing of itself gets one CNP at most in so much time (Zhu et al., SIGCOMM 2015, section 3.1: N). */
const PLAIN_CNP_INTERVAL_NS: Nanos = 50 * MICROSECOND

/** What a flow owes its peer for what the peer has sent, beside the queue pair's acknowledgements. */
export class Receiver {
  /** Telemetry that waits to be sent back. */
  readonly echo: TelemetryEcho
  #echoesOnAcks: boolean
  /** Packets for which one acknowledgement stands, or one notification for READ responses; 0 = only packets that ask are acknowledged. */
  ackEveryPackets: number
  #receivingPart = NO_PART
  #stamps = false
  #tellsHops = false
  /** What acknowledgements collect. Those that collect bring no telemetry back. */
  reverse: Reverse = 'none'
  #cnpIntervalNs: Nanos = NEVER
  /** When the last CNP left, and when the next one is due because a mark has come since. */
  #cnpNs: Nanos = Number.NEGATIVE_INFINITY
  #cnpDueNs: Nanos = NEVER
  /** The newest request that has arrived, -1 = none yet. */
  #arrivedPsn = -1
  #arrivedNs: Nanos = 0
  #arrivedLimit = 0
  /** Works out the peer's window here; null when the peer does. */
  control: ReceiverControl | null = null
  #pathAnswers: PathAnswers | null = null
  #notifyKind = 0
  #notifyPsn = 0
  #answerSequence = 0
  #unechoedResponses = 0
  #answerAsked = false
  /** A CE mark has come since the last answer. */
  marked = false
  /** Data packets that have come with a CE mark. */
  markedPackets = 0

  /**
   * @param echoesOnAcks telemetry goes back on acknowledgements, and @param ackEveryPackets packets for which one of these stands,
   * 0 = only packets that ask are acknowledged: both unless the peer asks otherwise
   */
  constructor(echo: TelemetryEcho, echoesOnAcks: boolean, ackEveryPackets: number) {
    this.echo = echo
    this.ackEveryPackets = ackEveryPackets
    this.#echoesOnAcks = echoesOnAcks
  }

  /** The peer needs this, and this end has granted it. */
  serve(granted: readonly Need[]): void {
    this.reverse = reverseOf(granted)
    for (const { id, value } of granted) {
      if (id === NeedId.TELEMETRY && value !== TelemetryReturn.AS_SET)
        this.#echoesOnAcks = value === TelemetryReturn.ACK
      else if (id === NeedId.RECEIVING_PART) this.#receivingPart = value
      else if (id === NeedId.TIME_STAMPS) this.#stamps = true
      else if (id === NeedId.HOP_COUNT) this.#tellsHops = true
      else if (id === NeedId.CNPS) this.#cnpIntervalNs = value
      else if (id === NeedId.ACK_EVERY) this.ackEveryPackets = value
    }
  }

  /** The peer is a RoCEv2 host that has said nothing: CNPs are how it learns of marks. */
  serveAsPlain(): void {
    this.#cnpIntervalNs = PLAIN_CNP_INTERVAL_NS
  }

  /** Acknowledgements tell how the packet arrived. */
  get stamps(): boolean {
    return this.#stamps || this.#tellsHops
  }

  /** A request has arrived and was taken. @param hopLimit with which it came */
  onArrived(now: Nanos, psn: number, hopLimit: number): void {
    const isOlder = this.#arrivedPsn >= 0 && ((psn - this.#arrivedPsn) & 0xffffff) >= 0x800000
    if (isOlder) return
    this.#arrivedPsn = psn
    this.#arrivedNs = now
    this.#arrivedLimit = this.#tellsHops ? hopLimit : 0
  }

  /** Tells in an acknowledgement how the newest request arrived. */
  stamp(now: Nanos, frame: Frame): void {
    if (this.#arrivedPsn >= 0) arrival.add(frame, this.#arrivedNs, now, this.#arrivedLimit)
  }

  /** Telemetry goes back on acknowledgements. */
  get echoesOnAcks(): boolean {
    return this.#echoesOnAcks && this.reverse === 'none'
  }

  /** An acknowledgement has nothing to say but that requests have come. */
  get acksAreBare(): boolean {
    const echoes = this.#echoesOnAcks && this.echo.bytes > 0
    return !echoes && !this.marked && !this.stamps && this.reverse === 'none'
  }

  /** Number of the algorithm by which this end may be asked to work out windows, or NO_PART. */
  get receivingPart(): number {
    return this.#receivingPart
  }

  /** Telemetry of the peer's path probes; null before the first has arrived. */
  get pathAnswers(): PathAnswers | null {
    return this.#pathAnswers
  }

  /** What the next notification answers: KIND_* of delayed-ack.ts. */
  get notifyKind(): number {
    return this.#notifyKind
  }

  /** PSN of that notification. */
  get notifyPsn(): number {
    return this.#notifyPsn
  }

  /** Number of the peer's last probe. */
  get answerSequence(): number {
    return this.#answerSequence
  }

  /** The peer has requested an answer to a READ response, with or without telemetry. */
  get answerAsked(): boolean {
    return this.#answerAsked
  }

  /** A notification has something to say. */
  get mayNotify(): boolean {
    return this.echo.bytes > 0 || this.#answerAsked
  }

  /** The peer has asked this end to work out its window. */
  begin(control: ReceiverControl): void {
    this.control = control
  }

  /**
   * A packet came with a CE mark, or a run of them. True if a CNP is to go (RoCEv2, IBA annex A17.9.3): at once if none has left for an
   * interval, else when that ends (Zhu et al., SIGCOMM 2015, section 3.1, NP algorithm).
   * @param packets of data
   */
  onMarked(now: Nanos, packets: number): boolean {
    this.marked = true
    this.markedPackets += packets
    if (this.#cnpIntervalNs === NEVER) return false
    this.#cnpDueNs = Math.max(now, this.#cnpNs + this.#cnpIntervalNs)
    return this.takeCnp(now)
  }

  /** When a CNP is due, or NEVER. */
  nextTimeout(): Nanos {
    return this.#cnpDueNs
  }

  /** True, once, if a CNP is due. */
  takeCnp(now: Nanos): boolean {
    if (this.#cnpDueNs > now) return false
    this.#cnpDueNs = NEVER
    this.#cnpNs = now
    return true
  }

  /** What a packet has collected waits for the next answer, unless this end works on it itself. */
  keep(frame: Frame): void {
    if (this.control === null) this.echo.keep(frame)
  }

  /** A READ response has arrived. */
  onResponses(packets: number): void {
    this.#unechoedResponses += packets
  }

  /**
   * A packet has collected telemetry, or is a READ response that asks for an answer. True if a notification is to go.
   */
  onCollected(isResponse: boolean, isAsked: boolean, psn: number): boolean {
    if (!isResponse && this.echoesOnAcks) return false
    // The sender of a response waits for the answer that names it. That answer returns what a request has collected.
    if (!isResponse && this.#answerAsked) return false
    if (isAsked) this.#answerAsked = true
    // No acknowledgement answers a READ response: notifications are delayed as acknowledgements would be.
    if (isResponse && !isAsked && this.#unechoedResponses < this.ackEveryPackets) return false
    this.#unechoedResponses = 0
    this.#notifyKind = isResponse ? delayedAck.KIND_RESPONSE : delayedAck.KIND_REQUEST
    this.#notifyPsn = psn
    return true
  }

  onProbe(sequence: number): void {
    this.#answerSequence = sequence
  }

  /** @param sourcePort as of PathAnswers */
  onPathProbe(frame: Frame, sourcePort: number): void {
    this.#pathAnswers ??= new PathAnswers()
    this.#pathAnswers.keep(frame, sourcePort)
  }

  /** A notification leaves. */
  notified(): void {
    this.#answerAsked = false
  }

  /** An acknowledgement leaves with telemetry. */
  echoedOnAck(): void {
    this.#unechoedResponses = 0
  }

  /** An answer leaves, and covers all that came before it. @param withEcho with the telemetry that waited */
  answered(withEcho: boolean): void {
    if (withEcho) this.echo.clear()
    this.marked = false
  }
}
