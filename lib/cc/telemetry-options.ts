/**
 * How telemetry is collected and brought back, setting by setting: the one table that checks, scenario files, command lines,
 * their help and docs/telemetry.md follow. Sources are the drafts draft-miao-rtgwg-hpccplus (draft-02) and
 * draft-pan-tsvwg-hpccplus-01 (draft-01).
 */
import type { Idle } from './idle-setting.js'

export interface TelemetrySettings {
  collect: 'data' | 'probe'
  everyPackets: number
  everyBytes: number
  probeShare: number
  plain: boolean
  answer: 'ack' | 'notify'
  hops: 'all' | 'busiest'
  subscribe: 'off' | 'flag' | 'dscp'
  subscribeEvery: number
  subscribeDscp: number
  loadMax: number
  hostHop: boolean
}

interface Described {
  name: keyof TelemetrySettings
  /** When it has no effect. A user who gives it on a command line gets an error that says so. */
  idle?: (settings: TelemetrySettings) => Idle | null
  doc: string
  /** Draft and section. */
  source: string
}

/** One setting of telemetry. */
export type TelemetryOption = Described &
  (
    | { kind: 'choice'; choices: readonly string[]; default: string }
    | { kind: 'flag'; default: boolean }
    /** Whole numbers; bytes and shares may be given with units: 64KB, 1.5%. */
    | { kind: 'count' | 'bytes' | 'share'; min: number; max: number; default: number }
  )

const EVERY_MAX = 65_536

const byProbes = ({ collect }: TelemetrySettings): Idle | null =>
  collect === 'probe' ? { while: 'collect is probe', mend: 'collect to data' } : null

export const TELEMETRY_OPTIONS: readonly TelemetryOption[] = [
  {
    name: 'collect',
    kind: 'choice',
    choices: ['data', 'probe'],
    default: 'data',
    doc: 'data packets collect telemetry, or probes do: at most one per round trip, while data is in flight',
    source: 'draft-02, congestion notification, forward direction',
  },
  {
    name: 'everyPackets',
    idle: settings =>
      byProbes(settings) ??
      (settings.everyBytes > 0 ? { while: 'everyBytes is above 0', mend: 'everyBytes to 0' } : null),
    kind: 'count',
    min: 1,
    max: EVERY_MAX,
    default: 1,
    doc: 'with collect=data: one packet in so many collects',
    source: 'draft-02, forward direction, 1',
  },
  {
    name: 'everyBytes',
    idle: byProbes,
    kind: 'bytes',
    min: 0,
    max: 2 ** 31,
    default: 0,
    doc: 'with collect=data: one packet collects each time so many payload bytes are sent; 0: every packet counts instead',
    source: 'draft-02, forward direction, 1',
  },
  {
    name: 'probeShare',
    idle: ({ collect }) =>
      collect === 'data' ? { while: 'collect is data', mend: 'collect to probe' } : null,
    kind: 'share',
    min: 0.0001,
    max: 1,
    default: 0.01,
    doc: 'with collect=probe: probes and their answers take at most this share of the data bytes; 1: one probe in each round trip',
    source: 'draft-02, forward direction, 2: "less frequently"',
  },
  {
    name: 'plain',
    idle: ({ plain, subscribe, subscribeEvery }) =>
      plain && subscribe === 'flag' && subscribeEvery === 1
        ? {
            while: 'subscribe is flag and subscribeEvery is 1: each packet carries the flag',
            mend: 'subscribe to dscp, or subscribeEvery above 1',
          }
        : null,
    kind: 'flag',
    default: false,
    doc: 'packets that collect nothing are plain RoCEv2 to UDP port 4791; false: they carry an empty shim, so all packets of a flow have the same ports',
    source: 'draft-02, forward direction, 2: same routing path',
  },
  {
    name: 'answer',
    kind: 'choice',
    choices: ['ack', 'notify'],
    default: 'ack',
    doc: 'acknowledgements return telemetry, or one notification per collecting packet does',
    source: 'draft-02, reverse direction',
  },
  {
    name: 'hops',
    kind: 'choice',
    choices: ['all', 'busiest'],
    default: 'all',
    doc: 'the receiver returns all hops, or only the one with the most inflight bytes (not with compact records)',
    source: 'draft-02, RoCEv2 reference',
  },
  {
    name: 'subscribe',
    kind: 'choice',
    choices: ['off', 'flag', 'dscp'],
    default: 'off',
    doc: "data packets ask congested switches for direct responses, by the shim's flag 0x20 or by a DSCP",
    source: 'draft-01, section 6.3',
  },
  {
    name: 'subscribeEvery',
    idle: ({ subscribe }) =>
      subscribe === 'off' ? { while: 'subscribe is off', mend: 'subscribe to flag or dscp' } : null,
    kind: 'count',
    min: 1,
    max: EVERY_MAX,
    default: 1,
    doc: 'with subscribe: one packet in so many asks',
    source: 'draft-01, section 6.3',
  },
  {
    name: 'subscribeDscp',
    idle: ({ subscribe }) =>
      subscribe === 'dscp' ? null : { while: `subscribe is ${subscribe}`, mend: 'subscribe to dscp' },
    kind: 'count',
    min: 0,
    max: 63,
    default: 25,
    doc: "with subscribe=dscp: the DSCP that asks; switches must map it to the flows' priority",
    source: 'draft-01, section 6.3',
  },
  {
    name: 'loadMax',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 1,
    doc: "hosts ignore telemetry of a load above so many times the link's rate; default 1000 in scenarios whose switches report a share as the rate",
    source: 'draft-02, security considerations',
  },
  {
    name: 'hostHop',
    kind: 'flag',
    default: true,
    doc: 'this host reports itself as the last hop of the paths to it, if its port knows how much waits, as batch does: true is refused with another one; default false in scenarios, whose hosts are no part of the network',
    source: 'draft-02, section 4, lines 1-9: a hop like any other',
  },
]

/** The option of that name. */
export function telemetryOption(name: string): TelemetryOption | undefined {
  return TELEMETRY_OPTIONS.find(option => option.name === name)
}

export const DEFAULT_TELEMETRY = Object.freeze(
  Object.fromEntries(TELEMETRY_OPTIONS.map(option => [option.name, option.default])),
) as unknown as Readonly<TelemetrySettings>

/** What a value may be, for messages and help: `data|probe`, `1 to 65536`. */
export function rangeOf(option: TelemetryOption): string {
  if (option.kind === 'choice') return option.choices.join('|')
  if (option.kind === 'flag') return 'true|false'
  return `${option.min} to ${option.max}`
}

/** For `--help`: every setting with its range, default, meaning and section, a line each. */
export function describeTelemetry(): string[] {
  return TELEMETRY_OPTIONS.map(
    option =>
      `${option.name}=${rangeOf(option)}, default ${option.default}: ${option.doc} (${option.source})`,
  )
}
