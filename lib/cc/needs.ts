/** What a controller needs of its peer, as its entry in the catalogue says it and as two ends agree on it. */
import type { Nanos } from '../time/nanos.js'
import { type Need, NeedId, ReverseTelemetry, TelemetryReturn } from '../wire/weir/needs.js'

/** All of it has a default: a controller that needs nothing goes by acknowledgements and losses. */
export interface Needs {
  /**
   * Which of its packets collect in-band telemetry, that the peer returns: all that the settings say may; some, as `collectsAll` of
   * the controller says; or none. Default none.
   */
  telemetry?: 'all' | 'some' | 'none'
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
   * The peer answers packets with a CE mark by CNPs, at most one in so many ns, 1 us to 1 s (RoCEv2, IBA annex A17.9.3). A plain RoCEv2
   * peer does so at an interval of its own. Default: none are needed.
   */
  cnpIntervalNs?: Nanos
  /** It takes notice of what congested switches send by themselves (draft-pan-tsvwg-hpccplus-01, section 6.3). Default false. */
  directResponses?: boolean
  /** The share of a window after which it needs an acknowledgement, if not more often anyway. Default a half. */
  ackShare?: number
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
  const { telemetry = 'none', returned, reverseTelemetry, timeStamps, hopCount, cnpIntervalNs } = needs
  const list: Need[] = []
  const add = (id: NeedId, value = 0) => list.push({ id, value })
  if (telemetry !== 'none')
    add(NeedId.TELEMETRY, returned === undefined ? TelemetryReturn.AS_SET : RETURNS[returned])
  if (reverseTelemetry !== undefined) add(NeedId.REVERSE_TELEMETRY, WAYS[reverseTelemetry])
  if (timeStamps) add(NeedId.TIME_STAMPS)
  if (hopCount) add(NeedId.HOP_COUNT)
  if (cnpIntervalNs !== undefined) add(NeedId.CNPS, cnpIntervalNs)
  if (receivingPart >= 0) add(NeedId.RECEIVING_PART, receivingPart)
  return list
}

/**
 * What a host can do for its peer, as bits of `features` of proto/connect.proto: the first says that it reads needs at all, and returns
 * telemetry.
 */
const FIRST_BIT = 4
const RECEIVING_PARTS_BIT = 10
/** Numbers of receiving parts have bits of their own. */
export const RECEIVING_PARTS_MAX = 22

/** What every Weir host grants. @param receivingParts numbers of the algorithms that it has; @param seesHops it sees how many hops a packet came over */
export function featuresFor(receivingParts: readonly number[], seesHops: boolean): number {
  const ids = [NeedId.TELEMETRY, NeedId.REVERSE_TELEMETRY, NeedId.TIME_STAMPS, NeedId.CNPS]
  const bits = [...ids, ...(seesHops ? [NeedId.HOP_COUNT] : [])].map(id => FIRST_BIT + id)
  const parts = receivingParts.map(part => RECEIVING_PARTS_BIT + part)
  return [...bits, ...parts].reduce((features, bit) => features | (1 << bit), 0) >>> 0
}

/** A Weir host from before needs were agreed on: it returns telemetry, and has the receiving part 0. */
const OLDER_FEATURES = (1 << (FIRST_BIT + NeedId.TELEMETRY)) | (1 << RECEIVING_PARTS_BIT)
/** A peer that is no Weir host: RoCEv2 has CNPs, at an interval of its own. */
export const PLAIN_FEATURES = 1 << (FIRST_BIT + NeedId.CNPS)

/** True if a Weir host with these features reads what it is asked for. */
export function readsNeeds(features: number): boolean {
  return (features & (1 << (FIRST_BIT + NeedId.TELEMETRY))) !== 0
}

/** True if a host with these features grants the need. */
export function grants(features: number, { id, value }: Need): boolean {
  const has = readsNeeds(features) || features === PLAIN_FEATURES ? features : OLDER_FEATURES
  if (!isSound(id, value)) return false
  const bit = id === NeedId.RECEIVING_PART ? RECEIVING_PARTS_BIT + value : FIRST_BIT + id
  return (has & (1 << bit)) !== 0
}

function isSound(id: number, value: number): boolean {
  switch (id) {
    case NeedId.TELEMETRY:
      return value <= TelemetryReturn.NOTIFY
    case NeedId.REVERSE_TELEMETRY:
      return value <= ReverseTelemetry.DATA_WAY
    case NeedId.CNPS:
      return value >= CNP_INTERVAL_MIN_NS && value <= CNP_INTERVAL_MAX_NS
    case NeedId.RECEIVING_PART:
      return value < RECEIVING_PARTS_MAX
    default:
      return id > 0 && id < NeedId.CNPS && value === 0
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
    default:
      return `need ${id}`
  }
}
