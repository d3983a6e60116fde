/**
 * How telemetry is collected and brought back (drafts of HPCC++: draft-02, sections on congestion notification and on the
 * RoCEv2 reference; draft-01, section 6.3). Names and defaults of `telemetry` in scenario files and of `--telemetry`.
 */
import { WeirError } from '../errors.js'
import { parseBytes } from '../units/units.js'

export interface TelemetrySettings {
  /**
   * What this end's flows collect telemetry with: their data packets, or probe packets, one in a round trip, while data is
   * in flight (draft-02, forward direction, 1 and 2). Default data.
   */
  collect: 'data' | 'probe'
  /** Of `data`: every so-manieth packet, 1 to 65536. Default 1. */
  everyPackets: number
  /** Of `data`: instead of by packets, a packet each time so many payload bytes have been sent; 0 (default): by packets. */
  everyBytes: number
  /**
   * Packets that collect nothing are plain RoCEv2, to UDP port 4791. Default false: they have an INT shim without slots, 8
   * bytes, and so the same ports, as networks may choose paths by the destination port (draft-02, same headers).
   */
  plain: boolean
  /**
   * What this end brings telemetry back with: its acknowledgements, or a notification for each packet with telemetry,
   * which acknowledges too (draft-02, reverse direction, 1 and 2). Probes are answered by notifications. Default ack.
   */
  answer: 'ack' | 'notify'
  /** All hops, or only that with the highest inflight bytes (draft-02, RoCEv2 reference); that takes wide records. Default all. */
  hops: 'all' | 'busiest'
  /**
   * This end's data packets ask congested switches to answer directly: by the shim's flag 0x20, or by a DSCP (draft-01,
   * section 6.3). Default off.
   */
  subscribe: 'off' | 'flag' | 'dscp'
  /** Of `subscribe`: every so-manieth packet asks, 1 to 65536. Default 1. */
  subscribeEvery: number
  /** Of `subscribe` by DSCP: 0 to 63. Switches must give it the flows' priority. Default 25, beside priority 3's 24. */
  subscribeDscp: number
  /**
   * Telemetry by which a link has sent more than so many times what its rate allows is ignored, 1 to 1000 (draft-02,
   * security considerations). Default 1, but 1000 in scenarios whose switches tell a priority's guaranteed share, which it may exceed.
   */
  loadMax: number
}

export const TELEMETRY_CHOICES = {
  collect: ['data', 'probe'],
  answer: ['ack', 'notify'],
  hops: ['all', 'busiest'],
  subscribe: ['off', 'flag', 'dscp'],
} as const

const EVERY_MAX = 65_536
const EVERY_BYTES_MAX = 2 ** 31

/** Of settings that are whole numbers: least and most. */
export const TELEMETRY_RANGES = {
  everyPackets: [1, EVERY_MAX],
  everyBytes: [0, EVERY_BYTES_MAX],
  subscribeEvery: [1, EVERY_MAX],
  subscribeDscp: [0, 63],
  loadMax: [1, 1000],
} as const

export const DEFAULT_TELEMETRY: Readonly<TelemetrySettings> = {
  collect: 'data',
  everyPackets: 1,
  everyBytes: 0,
  plain: false,
  answer: 'ack',
  hops: 'all',
  subscribe: 'off',
  subscribeEvery: 1,
  subscribeDscp: 25,
  loadMax: 1,
}

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function telemetrySettings(given: Partial<TelemetrySettings> = {}): TelemetrySettings {
  const settings = { ...DEFAULT_TELEMETRY, ...given }
  for (const [name, choices] of Object.entries(TELEMETRY_CHOICES)) {
    const value = settings[name as keyof typeof TELEMETRY_CHOICES]
    if (!(choices as readonly string[]).includes(value))
      throw bad(name, `one of ${choices.join(', ')}`, value)
  }
  for (const [name, [least, most]] of Object.entries(TELEMETRY_RANGES)) {
    const value = settings[name as keyof typeof TELEMETRY_RANGES]
    if (!Number.isInteger(value) || value < least || value > most) {
      throw bad(name, `a whole number from ${least} to ${most}`, value)
    }
  }
  if (typeof settings.plain !== 'boolean') throw bad('plain', 'true or false', settings.plain)
  return settings
}

/** Settings by text: `collect=probe`, `everyBytes=64KB`. Throws WEIR_BAD_ARGUMENT. */
export function parseTelemetrySettings(texts: readonly string[]): Partial<TelemetrySettings> {
  const found: Record<string, unknown> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    if (!(name in DEFAULT_TELEMETRY)) {
      const names = Object.keys(DEFAULT_TELEMETRY).join(', ')
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `telemetry: there is no setting ${name || text}; there are ${names}`,
      )
    }
    if (name === 'plain') found[name] = value === 'true' ? true : value === 'false' ? false : value
    else if (name === 'everyBytes') found[name] = parseBytes(value)
    else found[name] = name in TELEMETRY_RANGES ? Number(value === '' ? Number.NaN : value) : value
  }
  return telemetrySettings(found as Partial<TelemetrySettings>)
}

function bad(name: string, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `telemetry: ${name} is ${range}, not ${value}`)
}
