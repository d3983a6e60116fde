/** What telemetry says of the switches on a path. */
import type { HopRecords } from '../wire/telemetry/hop-records.js'

/** What probes have shown of a path before a flow begins. */
export interface ProbeFindings {
  /** The last answers in a row that had telemetry of switches. */
  answers: number
  /** The rate of the slowest link in the last one, bit/s; infinite where it has none. */
  slowestBps: number
  /** XOR of the switches' ids. */
  pathId: number
}

/** Records of switches. None where the plausibility check has held back all of an echo that ends at the host. */
export function switchesOf(hops: HopRecords): number {
  return Math.max(0, hops.count - (hops.endsAtHost ? 1 : 0))
}

/** The rate of the slowest link in the telemetry, bit/s; infinite where it has none. */
export function slowestLinkBps(hops: HopRecords): number {
  let slowest = Number.POSITIVE_INFINITY
  if (hops.ratioOnly) return slowest
  for (let i = 0; i < switchesOf(hops); i++) {
    if (hops.rateBps[i]! > 0) slowest = Math.min(slowest, hops.rateBps[i]!)
  }
  return slowest
}
