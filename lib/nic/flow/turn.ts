/**
 * Packets that a flow may send in one turn at least, as far as its window and pacing allow: a port hands consecutive packets
 * of one flow to the kernel as one. Where every packet has its own time a turn is one packet.
 */
export const TURN_PACKETS = 8

/** Payload and headers of a run together: what Linux takes as one datagram, less the longest headers that one packet may have. */
const RUN_BYTES_MAX = 65_535 - 512
/** Headers of a data packet with an empty shim, and ICRC. */
const PACKET_OVERHEAD_BYTES = 64

/**
 * Packets of full length that a flow may write together.
 *
 * @param runPackets of the NIC's settings
 * @param pathMtu payload bytes of a full packet
 */
export function runPacketsAt(runPackets: number, pathMtu: number): number {
  return Math.max(1, Math.min(runPackets, Math.floor(RUN_BYTES_MAX / (pathMtu + PACKET_OVERHEAD_BYTES))))
}
