/**
 * Bytes that Weir's packets need on the wire in addition to their payload, without the Ethernet FCS (as in
 * `Frame`).
 */
import { HEADER_SLOT_BYTES } from '../../frame/frame-pool.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import * as icrc from '../../wire/ib/icrc.js'
import * as reth from '../../wire/ib/reth.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as udp from '../../wire/net/udp.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import type { IntSettings, Scenario } from './scenario.js'

/**
 * The longest packet has these headers in addition: IPv6 in place of IPv4 (20), AETH, a SACK's bitmap (32),
 * time stamps and a tag (16 each).
 */
const HEADERS_MORE_BYTES = 96

const PLAIN_BYTES = ethernet.BYTES + ipv4.BYTES + udp.BYTES + bth.BYTES + icrc.BYTES

/**
 * Returns the bytes of headers and ICRC of a data packet in the middle of a message: 58, and its telemetry
 * (none when `int` is null).
 *
 * @param switches passed so far, because some encapsulations grow at each
 */
export function dataOverheadBytes(int: IntSettings | null, switches: number): number {
  if (int === null) return PLAIN_BYTES
  const format = telemetry.formatOf(int.format)
  const inserted = telemetry.hopBytes(format) * Math.min(switches, int.hops)
  return PLAIN_BYTES + telemetry.senderBytes(format, int.hops) + inserted
}

/**
 * The same for a packet that collects no telemetry, between others that do.
 *
 * @param plain the setting of telemetry of this name
 */
export function leanOverheadBytes(int: IntSettings, plain: boolean): number {
  const isNative = int.format === 'wide' || int.format === 'compact'
  return PLAIN_BYTES + (isNative && !plain ? telemetry.senderBytes(telemetry.formatOf(int.format), 0) : 0)
}

/** The longest data packet of a scenario, without its Ethernet header. */
export function longestPacketBytes({ transport, int }: Pick<Scenario, 'transport' | 'int'>): number {
  return transport.pathMtu + dataOverheadBytes(int, int.hops) + reth.BYTES - ethernet.BYTES
}

/**
 * Returns the bytes that a frame needs for headers when its payload is not stored, with the most telemetry
 * that it may collect. Path probes have wide records where data packets have compact ones.
 *
 * @param tunnelBytes of a tunnel that it may go through
 */
export function headerSlotBytes({ format, hops }: IntSettings, tunnelBytes = 0): number {
  const longest: IntSettings = { format: format === 'compact' ? 'wide' : format, hops }
  const headers = dataOverheadBytes(longest, hops) + HEADERS_MORE_BYTES + tunnelBytes
  // An odd number of cache lines: headers that lie a power of two apart would displace each other in the cache.
  return Math.max(HEADER_SLOT_BYTES, (headers + 63) & ~63) | 64
}

/**
 * Returns the bytes of an acknowledgement: 62, and the echo. The echo is a native shim without the slots that
 * stayed empty.
 *
 * @param switches on the path of the data
 */
export function ackBytes(int: IntSettings | null, switches: number): number {
  const plain = PLAIN_BYTES + aeth.BYTES
  if (int === null) return plain
  const echoed = telemetry.formatOf(int.format === 'compact' ? 'compact' : 'wide')
  return plain + telemetry.senderBytes(echoed, Math.min(int.hops, switches))
}
