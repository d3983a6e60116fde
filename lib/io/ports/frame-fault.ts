import type { Frame } from '../../frame/frame.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as udp from '../../wire/net/udp.js'
import type { PortDropReason } from '../port.js'

/**
 * Returns why a UDP socket of a family cannot send this frame, or null if it can. It can send whole RoCEv2
 * packets, with or without shim.
 */
export function frameFault(frame: Frame, family: 4 | 6, mtu: number): PortDropReason | null {
  const { l3, l4, view } = frame
  if (l3 < 0 || l4 < 0 || l4 + udp.BYTES >= frame.length || !frame.materialised) return 'malformed'
  if (ipv4.version(view, l3) !== family) return 'malformed'
  const port = udp.destinationPort(view, l4)
  if (port !== udp.PORT_ROCE && port !== udp.PORT_INT) return 'malformed'
  return frame.length - l3 > mtu ? 'tooLong' : null
}
