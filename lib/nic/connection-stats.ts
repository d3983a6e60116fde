import type { ConnectionStats } from './types.js'

/** Of a connection of which nothing is known yet. */
export function newConnectionStats(): ConnectionStats {
  return {
    baseRttNs: 0,
    rttNs: 0,
    rateBps: 0,
    windowBytes: 0,
    inFlightBytes: 0,
    sentBytes: 0,
    ackedBytes: 0,
    retransmittedBytes: 0,
    timeouts: 0,
    pathQueueBytes: 0,
    pathHops: 0,
    refusedFeedback: 0,
    implausibleTelemetry: 0,
    sourcePort: 0,
    pathMoves: 0,
    pathProbes: 0,
    pathProbeBytes: 0,
    pathUtilization: 0,
    admissionDelayNs: 0,
  }
}
