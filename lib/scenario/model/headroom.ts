/** Memory of a lossless switch port for what still arrives after its peer has got a pause. */

import * as reth from '../../wire/ib/reth.js'
import type { PfcSettings, Scenario } from './scenario.js'
import { dataOverheadBytes } from './wire-sizes.js'

const PFC_FRAME_BYTES = 60
/** The longest frame of Ethernet with an IP packet of 1500 bytes, for traffic that is not Weir's. */
const ETHERNET_FRAME_BYTES = 1514

/** The longest frame that a scenario's links carry, without FCS. */
export function longestFrameBytes(scenario: Pick<Scenario, 'transport' | 'int'>): number {
  const own = scenario.transport.pathMtu + dataOverheadBytes(scenario.int, scenario.int.hops) + reth.BYTES
  return Math.max(ETHERNET_FRAME_BYTES, own)
}

/**
 * Headroom of one port and lossless priority, bytes: all that can arrive once a frame has gone over the threshold.
 * In the order of events (IEEE 802.1Q, annex N, with no delay inside the stations):
 *
 * - that frame itself;
 * - while the port finishes the frame that it has just begun to send, and then sends the PFC frame: as much again;
 * - while the PFC frame travels to the peer, `delayNs`: what the link carries;
 * - the frame that the peer has just begun to send;
 * - what is on the link then: `delayNs` again.
 *
 * 2 x delay x rate / 8 + 3 x longest frame + 60.
 */
export function headroomBytes(link: { rateBps: number; delayNs: number }, frameBytes: number): number {
  const onLink = Math.ceil((2 * link.delayNs * link.rateBps) / 8e9)
  // Times are whole nanoseconds, rounded up, at either end.
  const rounding = Math.ceil((4 * link.rateBps) / 8e9)
  return onLink + 3 * frameBytes + PFC_FRAME_BYTES + rounding
}

/** What each lossless priority of each of these ports gets, by port: the setting, or worked out from the link. */
export function headroomByPort(
  pfc: Pick<PfcSettings, 'headroomBytes'>,
  links: readonly { rateBps: number; delayNs: number }[],
  frameBytes: number,
): number[] {
  return links.map(link => pfc.headroomBytes ?? headroomBytes(link, frameBytes))
}
