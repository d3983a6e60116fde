/**
 * Every feature of a switch, in the order in which the stages of a frame's way call them. A new feature is
 * added only here.
 */
import { WeirError } from '../../lib/errors.js'
import { AI_ECN, type AiEcnOptions, type AiEcnReport } from './ai-ecn/ai-ecn.js'
import type { FeatureEntry } from './feature/feature-entry.js'
import { INOF, type InofOptions } from './inof/inof.js'
import { IPCC, type IpccOptions, type IpccReport } from './ipcc/ipcc.js'
import { MARKING, type MarkingOptions } from './marking/marking.js'
import { type DeadlockPreventionOptions, PREVENTION } from './pfc/deadlock-prevention.js'
import type { PfcOptions } from './pfc/ingress-accounting.js'
import { PFC, type PfcReport } from './pfc/pfc.js'
import { WATCHDOG, type WatchdogOptions, type WatchdogReport } from './pfc/pfc-watchdog.js'
import { LARGE_FLOWS, type LargeFlowsOptions, type LargeFlowsReport } from './scheduling/large-flows.js'
import { DIRECT, type DirectResponseOptions } from './telemetry/direct-responses.js'
import { TELEMETRY } from './telemetry/int-stamper.js'
import { INT_TABLE, type IntTableOptions } from './telemetry/int-table.js'
import type { LoadViewOptions } from './telemetry/load-view.js'
import { ROCC, type RoccOptions, type RoccReport } from './telemetry/rocc.js'
import { VTEP, type VtepOptions, type VtepReport } from './vxlan/vtep.js'

/** Features of a switch and their options, by name. Absent or false: the feature is off. */
export interface FeatureOptions {
  /** WRED and ECN. */
  ecn?: MarkingOptions | false
  /** Thresholds of marking that follow the traffic. Off: they stay. */
  aiEcn?: AiEcnOptions | false
  /** Priority flow control. Off: every priority is lossy, and the switch ignores pauses. */
  pfc?: PfcOptions | false
  /**
   * Telemetry in packets that collect it. On by default. Off: packets pass unchanged, as through a switch
   * without INT.
   */
  telemetry?: LoadViewOptions | false
  /** The table of loads for acknowledgements that collect telemetry of the data's way. Off: they get the load of the moment. */
  intTable?: IntTableOptions | false
  /** Telemetry that the switch sends by itself. */
  direct?: DirectResponseOptions | false
  /** Fair rates that the switch sends to the sources of its queues. */
  rocc?: RoccOptions | false
  /** Detection and clearance of PFC deadlocks. */
  watchdog?: WatchdogOptions | false
  /** Off: every packet keeps its priority. */
  deadlockPrevention?: DeadlockPreventionOptions | false
  /** CNPs that the switch sends to the sources of its queues. */
  ipcc?: IpccOptions | false
  /** Separate scheduling of large and small flows. Off: all flows are scheduled alike. */
  largeFlows?: LargeFlowsOptions | false
  /** Which hosts are there. Off: LLDP frames are dropped. */
  inof?: InofOptions | false
  /** Ends of VXLAN tunnels. Off: the switch only forwards VXLAN. */
  vtep?: VtepOptions | false
}

/** Members that features add to the report of a port. Absent: the feature is off. */
export interface FeatureReports extends Partial<PfcReport> {
  watchdog?: WatchdogReport
  /** Frames for this port that deadlock prevention moved to another priority. */
  movedFrames?: number
  /** Direct responses that the switch sent about congestion of this port. */
  directResponses?: number
  /** Thresholds that followed the traffic of this port. */
  aiEcn?: AiEcnReport
  /** What RoCC has sent of this port. */
  rocc?: RoccReport
  /** CNPs that the switch has sent about the port's queues. */
  ipcc?: IpccReport
  /** Large flows that leave by the port. */
  largeFlows?: LargeFlowsReport
  /** What went into tunnels and came out of them by the port. */
  vtep?: VtepReport
}

const FEATURES: FeatureEntry[] = [
  MARKING,
  PFC,
  INT_TABLE,
  TELEMETRY,
  DIRECT,
  ROCC,
  WATCHDOG,
  PREVENTION,
  LARGE_FLOWS,
  AI_ECN,
  IPCC,
  INOF,
  // Packets go into a tunnel last: every other feature sees the inner ones.
  VTEP,
]

/** Every feature, in order. */
export function featureEntries(): readonly FeatureEntry[] {
  return FEATURES
}

/**
 * Adds a feature of a program after the others. For use in scenario files, add it before lib/scenario is
 * loaded. Throws WEIR_BAD_ARGUMENT for a name in use.
 */
export function addFeature(entry: FeatureEntry): void {
  if (FEATURES.some(({ name }) => name === entry.name)) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `a feature of a switch is called ${entry.name} already; name it otherwise`,
    )
  }
  FEATURES.push(entry)
}
