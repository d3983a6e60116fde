/**
 * A datagram by which a host finds out whether anything listens on a port of RoCEv2 (lib/io/ports/reachability.ts): a BTH and an ICRC of
 * zeros. Every RoCEv2 host drops it, because there is no queue pair 0 on Ethernet. It must not be shorter: Linux's rdma_rxe reads memory
 * that it has not written when a datagram is shorter than a BTH, and that can crash its kernel.
 */
import type { Frame } from '../../frame/frame.js'
import * as udp from '../net/udp.js'
import * as bth from './bth.js'

const BYTES = bth.BYTES + 4
export const KNOCK: Readonly<Uint8Array> = new Uint8Array(BYTES)

/** Returns true for a parsed knock, and for a datagram without data, by which older Weir hosts knock. */
export function isKnock({ view, l4, bth: at }: Frame): boolean {
  if (l4 < 0) return false
  const bytes = udp.length(view, l4) - udp.BYTES
  return bytes === 0 || (bytes === BYTES && at >= 0 && bth.destQpn(view, at) === 0)
}
