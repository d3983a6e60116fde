/** Settings of a NIC that users give on command lines: ranges and meaning, for its checks and for the help. */
import { WeirError } from '../errors.js'
import type { CommandOption, ValueOption } from '../options/option.js'
import { PATH_MTUS, transportOption } from '../qp/transport-options.js'
import { type Nanos, SECOND } from '../time/nanos.js'
import { formatDuration } from '../units/units.js'
import { PORT_ROCE } from '../wire/net/udp.js'

/** A UDP port: packets with telemetry use the next one. */
export const UDP_PORT = {
  name: 'port',
  kind: 'count',
  min: 1,
  max: 65_534,
  default: PORT_ROCE,
  doc: 'UDP port of RoCEv2; packets with telemetry use the next one',
  command: { flag: '--port <port>' },
} as const satisfies CommandOption

/** Memory of those that exist, and of those whose requests wait for an answer, is bounded by it. */
export const CONNECTIONS = {
  name: 'connections',
  kind: 'count',
  min: 1,
  max: 65_534,
  default: 1024,
  doc: 'most connections at a time, of transfers, measurements and programs; further ones are refused',
  command: { flag: '--connections <count>' },
} as const satisfies CommandOption

/** Ten questions are asked in half of the time, and each answer may take a while on a busy host. */
const KEEP_ALIVE_LEAST_NS = SECOND

/** When a silent peer counts as gone. */
export const KEEP_ALIVE = {
  name: 'keepAlive',
  kind: 'time',
  min: 0,
  max: 86_400 * SECOND,
  default: 20 * SECOND,
  doc: 'a peer that has been silent for so long, although it was asked, is gone, 1s at least; 0: an idle connection does not notice',
  command: { flag: '--keep-alive <time>' },
} as const satisfies CommandOption

/** What full packets carry. */
export const PAYLOAD = {
  ...transportOption('pathMtu'),
  kind: 'choice',
  choices: [...PATH_MTUS, 'fill'],
  default: 'fill',
  doc: 'payload bytes of a full packet; fill: as many as fit into the packets that the interface takes, between Weir hosts',
  command: { flag: '--mtu <bytes>' },
} as const satisfies CommandOption

export const SOURCE_PORTS = {
  name: 'sourcePorts',
  kind: 'count',
  min: 1,
  max: 64,
  doc: 'UDP source ports of all connections; networks choose paths by them',
  command: { flag: '--source-ports <count>', usual: '16 with --io batch, 4 with dgram; others use any' },
} as const satisfies CommandOption

export const PRIORITY = {
  name: 'priority',
  kind: 'count',
  min: 0,
  max: 7,
  default: 0,
  doc: "priority of this host's packets: it chooses their DSCP",
  command: { flag: '--priority <number>' },
} as const satisfies CommandOption

/** DSCPs of priorities 0 to 7, where nothing else is said: class selectors (RFC 2474, section 4.2.2). */
export const CLASS_SELECTORS: readonly number[] = [0, 8, 16, 24, 32, 40, 48, 56]

/** One of the eight of `--dscp-of-priority`. */
export const DSCP = {
  name: 'dscp',
  kind: 'count',
  min: 0,
  max: 63,
  doc: 'DSCP',
} as const satisfies ValueOption

/** Throws WEIR_BAD_ARGUMENT for a time in which a peer cannot answer. @param name of the option, for the error */
export function checkKeepAlive(name: string, keepAliveNs: Nanos): void {
  if (keepAliveNs === 0 || keepAliveNs >= KEEP_ALIVE_LEAST_NS) return
  const least = formatDuration(KEEP_ALIVE_LEAST_NS)
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${name} is 0, or at least ${least}, not ${formatDuration(keepAliveNs)}: a peer needs time to answer`,
  )
}

/** Throws WEIR_BAD_ARGUMENT where the option has no effect. @param name of the option, and @param keyName of the one that it needs, for the error */
export function checkUntaggedCnps(name: string, share: number, keyName: string, hasKey: boolean): void {
  if (share === 0 || hasKey) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${name} has no effect without ${keyName}, because no CNP has a tag then: add ${keyName}, or leave ${name} out`,
  )
}
