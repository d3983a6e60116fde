/** Bytes that Weir's packets take on the wire beside their payload, Ethernet's FCS left out (as in `Frame`). */
import { HEADER_SLOT_BYTES } from '../../frame/frame-pool.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import * as icrc from '../../wire/ib/icrc.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as udp from '../../wire/net/udp.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import type { IntSettings } from './scenario.js'

/** What the longest packet of this kind has beside: IPv6 for IPv4 (20), AETH, a SACK's bitmap (32), time stamps and a tag (16 each). */
const HEADERS_MORE_BYTES = 96

const PLAIN_BYTES = ethernet.BYTES + ipv4.BYTES + udp.BYTES + bth.BYTES + icrc.BYTES

/**
 * Headers and ICRC of a data packet in the middle of a message: 58 bytes, and its telemetry (none when `int` is null).
 *
 * @param switches passed so far: some encapsulations become longer by each
 */
export function dataOverheadBytes(int: IntSettings | null, switches: number): number {
  if (int === null) return PLAIN_BYTES
  const format = telemetry.formatOf(int.format)
  const inserted = telemetry.hopBytes(format) * Math.min(switches, int.hops)
  return PLAIN_BYTES + telemetry.senderBytes(format, int.hops) + inserted
}

/** The same of a packet that collects nothing, between others that do. @param plain a setting of telemetry */
export function leanOverheadBytes(int: IntSettings, plain: boolean): number {
  const isNative = int.format === 'wide' || int.format === 'compact'
  return PLAIN_BYTES + (isNative && !plain ? telemetry.senderBytes(telemetry.formatOf(int.format), 0) : 0)
}

/**
 * Room for the headers of a packet whose payload is not materialised, with all the telemetry that it may collect. Path
 * probes have wide records where data packets have compact ones.
 */
export function headerSlotBytes({ format, hops }: IntSettings): number {
  const longest: IntSettings = { format: format === 'compact' ? 'wide' : format, hops }
  const headers = dataOverheadBytes(longest, hops) + HEADERS_MORE_BYTES
  return Math.max(HEADER_SLOT_BYTES, (headers + 63) & ~63)
}

/**
 * A whole acknowledgement: 62 bytes, and the echo, a native shim without the slots that stayed empty.
 *
 * @param switches on the path of the data
 */
export function ackBytes(int: IntSettings | null, switches: number): number {
  const plain = PLAIN_BYTES + aeth.BYTES
  if (int === null) return plain
  const echoed = telemetry.formatOf(int.format === 'compact' ? 'compact' : 'wide')
  return plain + telemetry.senderBytes(echoed, Math.min(int.hops, switches))
}
