/** Checks that bounded values are within their bounds at any moment. */
import type { ConnectionStats } from '../../../lib/nic/types.js'
import type { Fail } from './fail.js'

/** Rates are products of floating-point numbers. */
const RATE_SLACK = 1.001

/** The checked figures of a connection. */
type Bounded = Pick<ConnectionStats, 'windowBytes' | 'rateBps' | 'inFlightBytes' | 'baseRttNs' | 'ackedBytes'>

/** @param lineRateBps of the host's link; @param inFlightMost bytes that the queue pair may have in flight */
export function checkBounds(stats: Bounded, lineRateBps: number, inFlightMost: number, fail: Fail): void {
  const { windowBytes, rateBps, inFlightBytes, baseRttNs, ackedBytes } = stats
  if (!(windowBytes >= 0 && windowBytes < Number.MAX_SAFE_INTEGER)) fail(`window ${windowBytes}`)
  if (!(rateBps >= 0 && rateBps <= lineRateBps * RATE_SLACK)) fail(`rate ${rateBps} of ${lineRateBps} bit/s`)
  if (!(inFlightBytes >= 0 && inFlightBytes <= inFlightMost))
    fail(`${inFlightBytes} bytes in flight, ${inFlightMost} at most`)
  if (!(baseRttNs >= 0 && ackedBytes >= 0)) fail(`T ${baseRttNs}, ${ackedBytes} bytes acknowledged`)
}
