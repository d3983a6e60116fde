import { DOUBLE_0, double } from '../double.js'
import type { Nanos } from '../time/nanos.js'
import { HopRecords } from '../wire/telemetry/hop-records.js'
import type { ProbeFindings } from './path-switches.js'

/** By what a sample has come. */
export const FeedbackSource = {
  /** An ACK or SACK, or a READ or atomic response that acknowledges. */
  ACK: 0,
  /** A notification of the peer. */
  NOTIFY: 1,
  /** The peer's window of receiver-based control, which acknowledges. */
  WINDOW: 2,
  /** The answer to a probe. */
  PROBE: 3,
  /** A congested switch. */
  SWITCH: 4,
  /** A READ of the peer, which shows that it has earlier responses. */
  READ: 5,
  /** A congestion notification packet. */
  CNP: 6,
} as const
export type FeedbackSource = (typeof FeedbackSource)[keyof typeof FeedbackSource]

/** A time, or a difference of times, that is not known. */
export const UNKNOWN_NS = double(-1)

/**
 * What a controller learns from an acknowledgement (or a telemetry response). One object a NIC, reused: keep nothing
 * of it. Sequence numbers count the transmissions of the flow, packets with payload, from 0; they never wrap. A packet
 * that is retransmitted gets a new one.
 */
export interface AckSample {
  source: FeedbackSource
  /** The packet that this sample speaks of: the one acknowledged, or the one that carried the telemetry. -1: a CNP names none. */
  seq: number
  /** The next packet to be sent: `snd_nxt` of the drafts. */
  sndNxt: number
  /** Payload bytes newly acknowledged. */
  ackedBytes: number
  /** It acknowledges the oldest packet that was not acknowledged: SND.UNA has advanced. */
  advanced: boolean
  /** Payload bytes sent and not acknowledged. */
  inFlightBytes: number
  /**
   * When the packet that brings this sample arrived at this host: by the kernel's stamp where its port has one, so that the time in which the
   * host was busy with other things is not part of a round trip. At most the time of the call.
   */
  heardNs: Nanos
  /** Time from that packet's departure to `heardNs`, or 0 when it is not known. */
  rttNs: Nanos
  /**
   * Since that packet left last, where it left more than once (`rttNs` is 0 then); 0 otherwise. The round trip, if this answers its last
   * transmission; less than one, if an earlier one (RFC 8985, section 6.2, takes it from the least round trip on).
   */
  sinceRepeatNs: Nanos
  /** When that packet left this host, or UNKNOWN_NS. Of a probe's answer: when the probe left. */
  sentNs: Nanos
  /**
   * When it arrived at the peer, and when this answer left there: by the peer's clock, modulo `arrival.MODULUS_NS`; UNKNOWN_NS unless the
   * controller needs time stamps and the peer grants them.
   */
  arrivedNs: Nanos
  leftNs: Nanos
  /** From the one to the other, or UNKNOWN_NS: the part of the round trip that the peer has taken. */
  turnaroundNs: Nanos
  /** Hops that the packet came over, as the peer or the telemetry tells; 0 = not known. */
  hopCount: number
  /** The peer received the packet with a CE mark, and echoed it. */
  ecnEcho: boolean
  /**
   * Payload bytes of packets that the peer has received with a CE mark, so far as that is news. A Weir host counts packets. Of a peer that
   * does not, all that the acknowledgement acknowledges counts.
   */
  markedBytes: number
  /** The telemetry is a probe's, and no data packet of the flow collects any: it comes once in a round trip. */
  probed: boolean
  /** In-band telemetry of the path; `hops.count` is 0 when there was none. */
  hops: HopRecords
  /**
   * Telemetry of the answer's own way, the hop next to the peer first: for a controller that needs it, where the peer grants it. `count`
   * is 0 when there was none.
   */
  reverseHops: HopRecords
}

/**
 * The round trip that an acknowledgement shows, 0 = none. A flow that has lost a whole window only retransmits for long, and a round trip from
 * before it would hold its pace down: from T on, the answer to a retransmission counts.
 */
export function roundTripOf({ rttNs, sinceRepeatNs }: AckSample, baseRttNs: Nanos): Nanos {
  if (rttNs > 0) return rttNs
  return sinceRepeatNs >= baseRttNs ? sinceRepeatNs : 0
}

/** A sample that tells nothing. */
export function newAckSample(): AckSample {
  return {
    source: FeedbackSource.ACK,
    seq: DOUBLE_0,
    sndNxt: 0,
    ackedBytes: 0,
    advanced: false,
    inFlightBytes: 0,
    heardNs: DOUBLE_0,
    rttNs: DOUBLE_0,
    sinceRepeatNs: DOUBLE_0,
    sentNs: UNKNOWN_NS,
    arrivedNs: UNKNOWN_NS,
    leftNs: UNKNOWN_NS,
    turnaroundNs: UNKNOWN_NS,
    hopCount: 0,
    ecnEcho: false,
    markedBytes: 0,
    probed: false,
    hops: new HopRecords(),
    reverseHops: new HopRecords(),
  }
}

/** The fair rate of a switch's queue, which the switch has sent to a source of that queue. One object, reused: keep nothing of it. */
export interface FairRate {
  /** Both name the congestion point. */
  switchId: number
  port: number
  /** Whole kbit/s. */
  rateBps: number
  /** T: the switch sends one each time, as long as the flow has packets in a queue that is not empty. */
  intervalNs: Nanos
}

/**
 * What a controller learns when packets are taken for lost. One object a flow, reused: keep nothing of it. Sequence
 * numbers count transmissions, as in AckSample.
 */
export interface LossSample {
  /** Payload bytes that were in flight and are now taken for lost. */
  lostBytes: number
  /** The lost packet that was sent last. What was sent before a reduction says nothing about the window after it. */
  newestSeq: number
  /** The next packet to be sent. */
  sndNxt: number
  /** Payload bytes sent and not acknowledged, without those that are lost. */
  inFlightBytes: number
  /** Payload bytes acknowledged by the packet that shows the loss: `onAck` follows with them. */
  ackedBytes: number
  /** The transport timer has run out: everything in flight is taken for lost. */
  byTimeout: boolean
}

/** What every controller gets when its connection is made. */
export interface CongestionContext {
  /** Rate of the host's own link, bit/s: the highest rate a flow may have. */
  lineRateBps: number
  /** T of the drafts: the path's round-trip time with empty queues. */
  baseRttNs: Nanos
  /** Payload bytes of a full packet. */
  mtuBytes: number
  /**
   * Nothing is known of the path, and T may be no more than a guess: the flow begins with a window of ten packets, and loss
   * counts as congestion. Default: it begins at line rate, as in the papers.
   */
  careful?: boolean
  /** The peer is a RoCEv2 host other than Weir. Default false. */
  foreignPeer?: boolean
  /** What the probes that measured T have shown of the path. Default: nothing. */
  probed?: ProbeFindings
}

/** The window with which a careful flow begins, in packets (RFC 6928, section 2). */
export const CAREFUL_PACKETS = 10

/** What `windowBytes` returns if a controller bounds no bytes in flight: the rate alone holds the flow. */
export const NO_WINDOW = Number.POSITIVE_INFINITY
/** What `rateBps` returns if a controller paces nothing: packets leave at the rate of the host's link, as the window allows. */
export const NO_RATE = Number.POSITIVE_INFINITY

/**
 * A congestion controller of one flow. The window caps the payload bytes in flight, the rate paces them.
 * No clock, no timer, no randomness: times come in, deadlines go out.
 *
 * A controller decides a window and a rate (`windowBytes`, `rateBps`), and learns acknowledgements and losses. Every other method has a
 * default. After each method by which it learns something the NIC asks for window, rate and deadline again. It keeps them until the next
 * one: they change in these methods alone.
 */
export interface CongestionControl {
  readonly name: string
  /**
   * A packet of `bytes` payload has left. Where packets are written together, a run has: `seq` is its last transmission, and `bytes`
   * the payload of all. Default: no reaction.
   */
  onSent?(now: Nanos, seq: number, bytes: number): void
  /** An acknowledgement arrived, with or without telemetry. */
  onAck(now: Nanos, sample: AckSample): void
  /** Telemetry arrived without an acknowledgement: a probe's answer, a notification. Default: no reaction. */
  onTelemetry?(now: Nanos, sample: AckSample): void
  /** A congestion notification packet arrived: it names no packet, and tells nothing else. Default: no reaction. */
  onCnp?(now: Nanos, sample: AckSample): void
  /** Packets are taken for lost and will be retransmitted. */
  onLoss(now: Nanos, loss: LossSample): void
  /** What the last `onLoss` spoke of had arrived: nothing was lost (RFC 9438, section 4.9). Default: no reaction. */
  onSpurious?(now: Nanos): void
  /** T has changed: the path's round trip with empty queues is known better. Default: no reaction. */
  onBaseRtt?(now: Nanos, baseRttNs: Nanos): void
  /**
   * A congested switch has answered by itself (draft-01, section 6.3): `sample.hops` holds the hops up to that switch,
   * its own last, and `sample.seq` is the packet that met the congestion. Controllers without this method ignore it.
   */
  onDirectResponse?(now: Nanos, sample: AckSample): void
  /** A switch has sent the fair rate of a queue of the flow's path (RoCC). Default: no reaction. */
  onFairRate?(now: Nanos, fairRate: FairRate): void
  /** The flow takes another path from its next packet on, and nothing is in flight: what is known of the old one no longer holds. */
  onPathChange?(): void
  /** Receiver-based control: the receiver has worked out the window. */
  onReceiverWindow?(now: Nanos, windowBytes: number): void
  /** Name of the controller that decides now, if this one chooses between others. Default: its own. */
  readonly inForce?: string
  /** Why. Default: as configured. */
  readonly reason?: string
  /** False: one packet a window that collects telemetry is enough for now, and fewer of single messages. Default: all do, as the settings say. */
  readonly collectsAll?: boolean
  /** True: packets leave at their time, one by one. Default: those that need not collect telemetry may leave in runs. */
  readonly eachAtItsTime?: boolean
  /** The share of a window after which it needs an acknowledgement now. Default: that of its entry in the catalogue. */
  readonly ackShare?: number | undefined
  /** Payload bytes that may be in flight, or NO_WINDOW. */
  windowBytes(): number
  /** Rate of the flow's packets on the wire, bit/s, or NO_RATE. */
  rateBps(): number
  /** The earliest of its deadlines, or NEVER. Default: NEVER. */
  nextTimeout?(): Nanos
  /** That time has come. Called until the earliest deadline lies ahead, so each call may take one. */
  onTimeout?(now: Nanos): void
  /** Writes the internal variables in the order of `observed`, for traces and plots. */
  observe(into: Float64Array): void
  /** Names of the variables that `observe` writes. */
  readonly observed: readonly string[]
}

/** With which window a packet was sent, for the receiver that works windows out. */
export const SentWith = {
  /** The window that the receiver gave last; or it has given none yet. */
  LAST: 0,
  /** One before that. */
  EARLIER: 1,
  /** The sender does not say. */
  UNKNOWN: 2,
} as const

/** What the receiver is to send. */
export const WindowDue = {
  NOTHING: 0,
  /** A new window. */
  NEW: 1,
  /** The last one once more: it seems to be lost. */
  AGAIN: 2,
} as const

/** The receiver's end of a controller whose window is worked out there. */
export interface ReceiverControl {
  /** T of the sender's last request. */
  readonly baseRttNs: Nanos
  /**
   * Telemetry arrived. Returns one of WindowDue.
   *
   * @param concurrentFlows N, the flows that send to this host; 0 = unknown
   * @param acknowledging an acknowledgement is about to leave, and the window would take its place
   * @param sentWith the window that the packet was sent with: one of SentWith
   */
  onTelemetry(
    now: Nanos,
    hops: HopRecords,
    concurrentFlows: number,
    acknowledging: boolean,
    sentWith: number,
  ): number
  /** The direct response of a congested switch has come to the receiver. Returns one of WindowDue. */
  onDirectResponse(now: Nanos, hops: HopRecords): number
  /** The sender takes another path. */
  onPathChange(): void
  /** The sender has measured another T, and gets the window that follows from it. */
  onBaseRtt(now: Nanos, baseRttNs: Nanos): void
  windowBytes(): number
}
