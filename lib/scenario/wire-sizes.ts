/** Bytes that Weir's packets take on the wire beside their payload, Ethernet's FCS left out (as in `Frame`). */
import type { IntSettings } from './scenario.js'

const ETHERNET_BYTES = 14
const IPV4_BYTES = 20
const UDP_BYTES = 8
const BTH_BYTES = 12
const AETH_BYTES = 4
const ICRC_BYTES = 4
const SHIM_BYTES = 8
const WIDE_SLOT_BYTES = 24
const COMPACT_SLOT_BYTES = 8
/** In the first packet of an RDMA WRITE. */
export const RETH_BYTES = 16

const PLAIN_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES

/** An INT shim with room for so many hops; 0 for packets that carry none (`int` null). */
export function shimBytes(int: IntSettings | null, slots: number): number {
  if (int === null) return 0
  return SHIM_BYTES + slots * (int.format === 'wide' ? WIDE_SLOT_BYTES : COMPACT_SLOT_BYTES)
}

/** Headers and ICRC of a data packet in the middle of a message: 58 bytes, and the shim with all its slots. */
export function dataOverheadBytes(int: IntSettings | null): number {
  return PLAIN_BYTES + shimBytes(int, int?.hops ?? 0)
}

/**
 * A whole acknowledgement: 62 bytes, and the echoed shim, which leaves out the slots that stayed empty.
 *
 * @param switches on the path of the data
 */
export function ackBytes(int: IntSettings | null, switches: number): number {
  return PLAIN_BYTES + AETH_BYTES + shimBytes(int, Math.min(int?.hops ?? 0, switches))
}
