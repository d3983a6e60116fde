/** How much memory a lossless switch port needs for the frames that arrive after it has paused its peer. */

import * as ethernet from '../../wire/net/ethernet.js'
import type { PfcSettings, Scenario } from './scenario.js'
import { tunnelBytesMost } from './vtep.js'
import { longestPacketBytes } from './wire-sizes.js'

const PFC_FRAME_BYTES = 60
/** The longest frame of Ethernet with an IP packet of 1500 bytes, for traffic that is not Weir's. */
const ETHERNET_FRAME_BYTES = 1514

/** The longest frame that the links of a scenario carry, bytes, without the FCS. */
export function longestFrameBytes(scenario: Pick<Scenario, 'transport' | 'int' | 'vtep'>): number {
  const own = longestPacketBytes(scenario) + ethernet.BYTES
  return Math.max(ETHERNET_FRAME_BYTES, own) + tunnelBytesMost(scenario)
}

/**
 * Headroom of one port and lossless priority, bytes: all that can arrive after a frame has exceeded the
 * threshold. In the order of events (IEEE 802.1Q, annex N, with no delay inside the stations):
 *
 * - that frame itself;
 * - while the port finishes the frame that it has just begun to send, and then sends the PFC frame: as much
 * again;
 * - while the PFC frame travels to the peer, `delayNs`: what the link carries;
 * - the frame that the peer has just begun to send;
 * - what is on the link then: `delayNs` again.
 *
 * 2 x delay x rate / 8 + 3 x longest frame + 60.
 */
export function headroomBytes(link: { rateBps: number; delayNs: number }, frameBytes: number): number {
  const onLink = Math.ceil((2 * link.delayNs * link.rateBps) / 8e9)
  // Four times on the way are rounded up to whole nanoseconds, two at each end.
  const rounding = Math.ceil((4 * link.rateBps) / 8e9)
  return onLink + 3 * frameBytes + PFC_FRAME_BYTES + rounding
}

/**
 * The headroom of each lossless priority, bytes, by port number: the setting, or what `headroomBytes` returns
 * for the port's link.
 */
export function headroomByPort(
  pfc: Pick<PfcSettings, 'headroomBytes'>,
  links: readonly { rateBps: number; delayNs: number }[],
  frameBytes: number,
): number[] {
  return links.map(link => pfc.headroomBytes ?? headroomBytes(link, frameBytes))
}
