/** What a controller needs of its peer, as its entry in the catalogue says it and as two ends agree on it. */
import type { Nanos } from '../time/nanos.js'
import { ACK_EVERY_MAX, type Need, NeedId, ReverseTelemetry, TelemetryReturn } from '../wire/weir/needs.js'

/** All of it has a default: a controller that needs nothing goes by acknowledgements and losses. */
export interface Needs {
  /**
   * Which of its packets collect in-band telemetry, that the peer returns: `all` that the settings say may; `some`, as `collectsAll` of
   * the controller says; `probes`, one at most in each round trip, and no data; or `none`. Default none.
   */
  telemetry?: 'all' | 'some' | 'probes' | 'none'
  /** How it comes back: on acknowledgements, or by notifications. Default: as the receiving host is set (`telemetry.answer`). */
  returned?: 'ack' | 'notify'
  /**
   * The peer's acknowledgements collect telemetry: of the way of the data, which each switch writes into the acknowledgements that come
   * back (FNCC, section 3.2.1; `AckSample.hops`, in path order, with N), or of their own way (`AckSample.reverseHops`). What data
   * collects comes back by notifications then, which acknowledge nothing. Default: they collect none.
   */
  reverseTelemetry?: 'data-way' | 'own-way'
  /** The peer says when each packet arrived and when its acknowledgement left. Default false. */
  timeStamps?: boolean
  /** The peer says over how many hops each packet came. Default false. */
  hopCount?: boolean
  /**
   * Switches mark its packets instead of dropping them, and the peer reports marks: by acknowledgements that echo it
   * (`AckSample.ecnEcho`), a plain RoCEv2 peer by CNPs (RFC 3168, section 6.1). Packets are not ECN-capable where the peer sees no marks.
   * Default false: packets are ECN-capable, and whether the peer reports marks does not matter.
   */
  marks?: boolean
  /**
   * The peer answers packets with a CE mark by CNPs, at most one in so many ns, 1 us to 1 s (RoCEv2, IBA annex A17.9.3). A plain RoCEv2
   * peer does so at an interval of its own. Default: none are needed.
   */
  cnpIntervalNs?: Nanos
  /**
   * The peer acknowledges at least each so many packets, 1 to 65535. It may grant a greater number. If it refuses, packets ask for
   * acknowledgements themselves, as often (AckReq, IBA 9.7.5.1.3). Default: as the receiving host is set (`transport.ackEvery`).
   */
  ackEvery?: number
  /**
   * The share of a window after which packets ask for an acknowledgement, if the peer does not send any more often. This is the sender's
   * alone to say: the peer does not know the window, and answers each packet that asks. Default a half.
   */
  ackShare?: number
  /** It takes notice of what congested switches send by themselves (draft-pan-tsvwg-hpccplus-01, section 6.3). Default false. */
  directResponses?: boolean
  /** It takes notice of the fair rates that switches send (RoCC). Default false. */
  fairRates?: boolean
}

const RETURNS = {
  ack: TelemetryReturn.ACK,
  notify: TelemetryReturn.NOTIFY,
} as const
const WAYS = { 'data-way': ReverseTelemetry.DATA_WAY, 'own-way': ReverseTelemetry.OWN_WAY } as const
const CNP_INTERVAL_MIN_NS = 1000
const CNP_INTERVAL_MAX_NS = 1e9

/** The needs that the peer has to hear of. @param receivingPart number of the algorithm by which it is to work out windows, -1 = none */
export function neededOfPeer(needs: Needs, receivingPart: number): Need[] {
  const { telemetry = 'none', returned, reverseTelemetry, timeStamps, hopCount, marks } = needs
  const { cnpIntervalNs, ackEvery } = needs
  const list: Need[] = []
  const add = (id: NeedId, value = 0) => list.push({ id, value })
  if (telemetry === 'probes') add(NeedId.PROBES)
  else if (telemetry !== 'none')
    add(NeedId.TELEMETRY, returned === undefined ? TelemetryReturn.AS_SET : RETURNS[returned])
  if (reverseTelemetry !== undefined) add(NeedId.REVERSE_TELEMETRY, WAYS[reverseTelemetry])
  if (timeStamps) add(NeedId.TIME_STAMPS)
  if (hopCount) add(NeedId.HOP_COUNT)
  if (marks) add(NeedId.MARKS)
  if (cnpIntervalNs !== undefined) add(NeedId.CNPS, cnpIntervalNs)
  if (ackEvery !== undefined) add(NeedId.ACK_EVERY, ackEvery)
  if (receivingPart >= 0) add(NeedId.RECEIVING_PART, receivingPart)
  return list
}

/** What a host can do for its peer. */
export interface FeedbackOffer {
  /**
   * Bits of `features` of proto/connect.proto. Bit 4 + id says that it grants that need; bit 5, for telemetry, that it reads needs at all.
   */
  features: number
  /** The least number of ACK_EVERY that it grants, 2 to 65535; 0 = any. */
  ackEvery: number
}

const FIRST_BIT = 4
const bitOf = (id: number): number => 1 << (FIRST_BIT + id)
const READS_NEEDS = bitOf(NeedId.TELEMETRY)
/** Every host says this that knows of MARKS, PROBES and ACK_EVERY. */
const KNOWS_PROBES = bitOf(NeedId.PROBES)
/** Receiving parts but 0, whose bit follows from its need, have theirs behind those of needs. */
const PART_BIT = FIRST_BIT + NeedId.PROBES
/** Numbers of receiving parts have bits of their own. */
export const RECEIVING_PARTS_MAX = 32 - PART_BIT

function partBit(part: number): number {
  return part === 0 ? bitOf(NeedId.RECEIVING_PART) : 1 << (PART_BIT + part)
}

/** What a host sees of the packets that arrive, and how it is set. */
export interface Abilities {
  /** TTL or hop limit. */
  seesHops: boolean
  /** CE marks. */
  seesMarks: boolean
  /** Packets for which one acknowledgement stands; 0 = only packets that ask are acknowledged. */
  ackEveryPackets: number
}

/** What a Weir host grants. @param receivingParts numbers of the algorithms that it has */
export function offerOf(receivingParts: readonly number[], abilities: Abilities): FeedbackOffer {
  const { seesHops, seesMarks, ackEveryPackets } = abilities
  const ids: NeedId[] = [NeedId.TELEMETRY, NeedId.REVERSE_TELEMETRY, NeedId.TIME_STAMPS, NeedId.PROBES]
  if (seesHops) ids.push(NeedId.HOP_COUNT)
  if (seesMarks) ids.push(NeedId.MARKS, NeedId.CNPS)
  if (ackEveryPackets > 0) ids.push(NeedId.ACK_EVERY)
  const bits = [...ids.map(bitOf), ...receivingParts.map(partBit)]
  const ackEvery = Math.min(ackEveryPackets, ACK_EVERY_MAX)
  return {
    features: bits.reduce((features, bit) => features | bit, 0) >>> 0,
    ackEvery: ackEvery > 1 ? ackEvery : 0,
  }
}

/** The same without a word on how often it acknowledges: a peer that needs to know asks in its packets. */
export function withoutAckEvery({ features }: FeedbackOffer): FeedbackOffer {
  return { features: (features & ~bitOf(NeedId.ACK_EVERY)) >>> 0, ackEvery: 0 }
}

/** A peer that is no Weir host: RoCEv2 has CNPs, at an interval of its own. */
export const PLAIN_OFFER: FeedbackOffer = { features: bitOf(NeedId.CNPS) | bitOf(NeedId.MARKS), ackEvery: 0 }

/** What a Weir host grants by its words. What one did before there were words for it, it still does. */
export function offerOfPeer({ features, ackEvery }: FeedbackOffer): FeedbackOffer {
  const known = readsNeeds(features) ? features : READS_NEEDS | partBit(0)
  const echoes = (known & KNOWS_PROBES) === 0 ? bitOf(NeedId.MARKS) | KNOWS_PROBES : 0
  return { features: known | echoes, ackEvery }
}

/** True if a Weir host with these features reads what it is asked for. */
export function readsNeeds(features: number): boolean {
  return (features & READS_NEEDS) !== 0
}

/** The need as a host grants it, maybe with a greater value than was asked for; null: it refuses. */
export function grantedOf({ features, ackEvery }: FeedbackOffer, { id, value }: Need): Need | null {
  if (!isSound(id, value)) return null
  const bit = id === NeedId.RECEIVING_PART ? partBit(value) : bitOf(id)
  if ((features & bit) === 0) return null
  return { id, value: id === NeedId.ACK_EVERY ? Math.max(value, ackEvery) : value }
}

function isSound(id: number, value: number): boolean {
  switch (id) {
    case NeedId.TELEMETRY:
      return value <= TelemetryReturn.NOTIFY
    case NeedId.REVERSE_TELEMETRY:
      return value <= ReverseTelemetry.DATA_WAY
    case NeedId.CNPS:
      return value >= CNP_INTERVAL_MIN_NS && value <= CNP_INTERVAL_MAX_NS
    case NeedId.ACK_EVERY:
      return value >= 1 && value <= ACK_EVERY_MAX
    case NeedId.RECEIVING_PART:
      return value < RECEIVING_PARTS_MAX
    default:
      return id > 0 && id <= NeedId.PROBES && value === 0
  }
}

/** For people: `weir status`, and the help of controllers. @param partName name of a receiving part's controller */
export function needText({ id, value }: Need, partName: (part: number) => string): string {
  switch (id) {
    case NeedId.TELEMETRY:
      return ['telemetry', 'telemetry on ACKs', 'telemetry by notifications'][value] ?? 'telemetry'
    case NeedId.REVERSE_TELEMETRY:
      return value === ReverseTelemetry.OWN_WAY ? 'telemetry of the way back' : 'telemetry collected by ACKs'
    case NeedId.TIME_STAMPS:
      return 'time stamps'
    case NeedId.HOP_COUNT:
      return 'hop counts'
    case NeedId.CNPS:
      return `CNPs each ${value / 1000} us`
    case NeedId.RECEIVING_PART:
      return `windows by ${partName(value)}`
    case NeedId.MARKS:
      return 'reports of CE marks'
    case NeedId.ACK_EVERY:
      return value === 1 ? 'an ACK for each packet' : `an ACK each ${value} packets`
    case NeedId.PROBES:
      return 'answers to probes'
    default:
      return `need ${id}`
  }
}
