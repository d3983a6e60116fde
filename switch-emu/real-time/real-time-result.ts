import type { CapacityResult, RealTimeResult } from '../../lib/scenario/result/result.js'
import type { SwitchReport } from './real-time-fabric.js'

/** A run with a larger share of late frames measures the machine. */
const LATE_SHARE_MAX = 0.05

/**
 * Returns the part of a result about the machine.
 *
 * @param capacity measured before the run
 */
export function realTimeResult(
  { lateness, lostFrames }: Pick<SwitchReport, 'lateness' | 'lostFrames'>,
  capacity: CapacityResult | null,
): RealTimeResult {
  const { frames, lateFrames, limitNs, meanNs, p50Ns, p99Ns, maxNs } = lateness
  const lateShare = frames === 0 ? null : lateFrames / frames
  return {
    capacity,
    keptUp: lateShare !== null && lateShare <= LATE_SHARE_MAX && lostFrames === 0,
    frames,
    lateFrames,
    lateLimitNs: limitNs,
    lateShare,
    lateNs: { mean: meanNs, p50: p50Ns, p99: p99Ns, max: maxNs },
    lostFrames,
  }
}
