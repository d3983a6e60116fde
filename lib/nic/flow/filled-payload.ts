/** The payload that fills an IP packet: two Weir hosts may agree on one that is no path MTU of InfiniBand. */
import * as bth from '../../wire/ib/bth.js'
import * as icrc from '../../wire/ib/icrc.js'
import * as immdt from '../../wire/ib/immdt.js'
import * as reth from '../../wire/ib/reth.js'
import type { HostAddress } from '../../wire/net/address.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'

/** A slot of a frame pool has room for no more. */
export const PAYLOAD_MAX = 4096
/** Payloads are multiples of it: then no packet but the last of a message has a pad. */
const ALIGNED = 4

/** Headers of the longest data packet behind UDP, telemetry left out: a WRITE of one packet with an immediate. */
const TRANSPORT_BYTES = bth.BYTES + reth.BYTES + immdt.BYTES + icrc.BYTES

/** What data packets collect on their way: a number of `FORMAT_NAMES`, and the hops for which they have room. */
interface Collected {
  format: number
  hops: number
}

/**
 * Returns the greatest multiple of 4 up to 4096 that fits as a payload into an IP packet of `packetBytes`, beside all headers and the
 * telemetry of all hops; 0 or less where nothing fits.
 *
 * @param packetBytes MTU of the way to the peer
 * @param collected null: data packets collect nothing
 */
export function filledPayload(
  packetBytes: number,
  { family }: HostAddress,
  collected: Collected | null,
): number {
  const ip = family === 4 ? ipv4.BYTES : ipv6.BYTES
  const telemetryBytes = collected === null ? 0 : telemetry.fullBytes(collected.format, collected.hops)
  const room = packetBytes - ip - udp.BYTES - telemetryBytes - TRANSPORT_BYTES
  return Math.min(PAYLOAD_MAX, room - (((room % ALIGNED) + ALIGNED) % ALIGNED))
}
