import type { AckSample, CongestionControl } from '../../cc/congestion-control.js'
import { DOUBLE_0 } from '../../double.js'
import type { QpCounters } from '../../qp/context/counters.js'
import type { ConnectionStats } from '../types.js'

const NO_TEXTS: readonly string[] = []

/** Figures of a new connection. */
export function newConnectionStats(): ConnectionStats {
  return {
    controller: '',
    controllerReason: '',
    feedbackGranted: NO_TEXTS,
    feedbackRefused: NO_TEXTS,
    feedbackGiven: NO_TEXTS,
    baseRttNs: DOUBLE_0,
    rttNs: DOUBLE_0,
    rateBps: DOUBLE_0,
    windowBytes: DOUBLE_0,
    inFlightBytes: 0,
    sentBytes: 0,
    ackedBytes: 0,
    retransmittedBytes: 0,
    spuriousRetransmissions: 0,
    spuriousBytes: 0,
    timeouts: 0,
    pathQueueBytes: 0,
    pathQueueNs: DOUBLE_0,
    pathHops: 0,
    refusedFeedback: 0,
    implausibleTelemetry: 0,
    receivedPackets: 0,
    otherService: 0,
    sourcePort: 0,
    pathMoves: 0,
    pathProbes: 0,
    pathProbeBytes: 0,
    pathUtilization: 0,
    admissionDelayNs: 0,
  }
}

/** An acknowledgement or telemetry has arrived. */
export function recordSample(stats: ConnectionStats, sample: AckSample, counters: QpCounters): void {
  stats.spuriousRetransmissions = counters.spuriousPackets
  stats.spuriousBytes = counters.spuriousBytes
  stats.ackedBytes += sample.ackedBytes
  stats.inFlightBytes = sample.inFlightBytes
  if (sample.rttNs > 0) stats.rttNs = sample.rttNs
  const { hops } = sample
  if (hops.count === 0) return
  let fullest = 0
  let waitNs = 0
  for (let i = 0; i < hops.count; i++) {
    fullest = Math.max(fullest, hops.qlenBytes[i]!)
    waitNs += (hops.qlenBytes[i]! * 8e9) / hops.rateBps[i]!
  }
  stats.pathQueueBytes = fullest
  stats.pathQueueNs = waitNs
  stats.pathHops = hops.count
}

/** What the controller decides. @param rateBps that paces the flow; @param reason why it is this one, if it does not say itself */
export function recordController(
  stats: ConnectionStats,
  cc: CongestionControl,
  rateBps: number,
  reason: string,
): void {
  stats.rateBps = rateBps
  stats.controller = cc.inForce ?? cc.name
  stats.controllerReason = cc.reason ?? reason
}
