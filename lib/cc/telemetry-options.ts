/**
 * How telemetry is collected and brought back, setting by setting: the one table that checks, scenario files, command lines,
 * their help and docs/telemetry.md follow. Sources are the drafts draft-miao-rtgwg-hpccplus (draft-02) and
 * draft-pan-tsvwg-hpccplus-01 (draft-01).
 */
import type { IdleRule, SettingsOf, ValueOption } from '../options/option.js'

/** What makes use of a setting. Where nothing does, `conflicts.ts` refuses it. Default: senders whose controller wants telemetry. */
export interface TelemetryUse {
  /** Controllers that get hops from the receiver, or those that take direct responses of switches. */
  by?: 'echo' | 'direct-responses'
  /** This end goes by it as a receiver, for what the controllers of its peers ask. */
  receiving?: boolean
  /** Path probes go by it too. */
  pathProbes?: boolean
  /** Telemetry that acknowledgements collect goes by it too. */
  acks?: boolean
}

/** One setting of telemetry. */
type TelemetryOption = ValueOption & { use?: TelemetryUse }

const EVERY_MAX = 65_536

const BY_PROBES: IdleRule = { while: { collect: 'probe' }, mend: 'collect to data' }

const TABLE = [
  {
    name: 'collect',
    kind: 'choice',
    choices: ['data', 'probe'],
    default: 'data',
    doc: 'data packets collect telemetry, or probes do: at most one per round trip, while data is in flight',
    source: 'draft-02, congestion notification, forward direction',
    example: 'probe',
  },
  {
    name: 'everyPackets',
    idle: [BY_PROBES, { while: { everyBytes: { above: 0 } }, mend: 'everyBytes to 0' }],
    kind: 'count',
    min: 1,
    max: EVERY_MAX,
    default: 1,
    doc: 'one packet in so many collects',
    source: 'draft-02, forward direction, 1',
    example: 8,
  },
  {
    name: 'everyBytes',
    idle: [BY_PROBES],
    kind: 'bytes',
    min: 0,
    max: 2 ** 31,
    default: 0,
    doc: 'one packet collects each time so many payload bytes are sent; 0: packets are counted instead',
    source: 'draft-02, forward direction, 1',
    example: '64KB',
  },
  {
    name: 'probeShare',
    kind: 'share',
    min: 0.0001,
    max: 1,
    default: 0.01,
    doc: 'probes and their answers take at most this share of the data bytes; 1: one probe in each round trip',
    source: 'draft-02, forward direction, 2: "less frequently"',
    example: '5%',
    with: { collect: 'probe' },
  },
  {
    name: 'plain',
    idle: [
      {
        while: { subscribe: 'flag', subscribeEvery: 1 },
        why: 'subscribe is flag and subscribeEvery is 1: each packet carries the flag',
        mend: 'subscribe to dscp, or subscribeEvery above 1',
      },
    ],
    kind: 'flag',
    default: false,
    doc: 'packets that collect nothing are plain RoCEv2 to UDP port 4791; false: they carry an empty shim, so all packets of a flow have the same ports',
    source: 'draft-02, forward direction, 2: same routing path',
    example: true,
    with: { everyPackets: 8 },
  },
  {
    name: 'answer',
    kind: 'choice',
    choices: ['ack', 'notify'],
    default: 'ack',
    doc: 'acknowledgements return telemetry, or one notification per collecting packet does',
    source: 'draft-02, reverse direction',
    example: 'notify',
    use: { by: 'echo', receiving: true },
  },
  {
    name: 'hops',
    kind: 'choice',
    choices: ['all', 'busiest'],
    default: 'all',
    doc: 'the receiver returns all hops, or only the one with the most inflight bytes',
    source: 'draft-02, RoCEv2 reference',
    example: 'busiest',
    use: { by: 'echo', receiving: true },
  },
  {
    name: 'subscribe',
    kind: 'choice',
    choices: ['off', 'flag', 'dscp'],
    default: 'off',
    doc: "data packets ask congested switches for direct responses, by the shim's flag 0x20 or by a DSCP",
    source: 'draft-01, section 6.3',
    example: 'flag',
    use: { by: 'direct-responses' },
  },
  {
    name: 'subscribeEvery',
    idle: [{ while: { subscribe: 'off' }, mend: 'subscribe to flag or dscp' }],
    kind: 'count',
    min: 1,
    max: EVERY_MAX,
    default: 1,
    doc: 'one packet in so many asks',
    source: 'draft-01, section 6.3',
    example: 16,
    with: { subscribe: 'flag' },
    use: { by: 'direct-responses' },
  },
  {
    name: 'subscribeDscp',
    idle: [{ while: { subscribe: { not: 'dscp' } }, mend: 'subscribe to dscp' }],
    kind: 'count',
    min: 0,
    max: 63,
    default: 25,
    doc: "the DSCP that asks; switches must map it to the flows' priority",
    source: 'draft-01, section 6.3',
    example: 27,
    with: { subscribe: 'dscp' },
    use: { by: 'direct-responses' },
  },
  {
    name: 'loadMax',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 1,
    doc: "hosts ignore telemetry of a load above so many times the link's rate; default 1000 in scenarios whose switches report a share as the rate",
    source: 'draft-02, security considerations',
    example: 4,
    usual: '1; 1000 where a switch has `telemetry.rate: share`',
    use: { pathProbes: true, acks: true },
  },
  {
    name: 'hostHop',
    kind: 'flag',
    default: true,
    doc: 'this host reports itself as the last hop of the paths to it, if its port knows how much waits, as batch does: true is refused with another one; default false in scenarios, whose hosts are no part of the network',
    source: 'draft-02, section 4, lines 1-9: a hop like any other',
    example: true,
    usual: '`false`: the hosts of a scenario are no part of its network',
    use: { receiving: true },
  },
] as const satisfies readonly TelemetryOption[]

export type TelemetrySettings = SettingsOf<typeof TABLE>

export const TELEMETRY_OPTIONS: readonly TelemetryOption[] = TABLE
