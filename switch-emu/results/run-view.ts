import type { RunResult } from '../../lib/scenario/result/result.js'
import type { Nanos } from '../../lib/time/nanos.js'

/** The progress of a run. */
export interface RunView {
  on: RunResult['on']
  /** Since the traffic's start. */
  timeNs: Nanos
  /** When the run ends at the latest. Absent: with its last flow. */
  durationNs?: Nanos
  /** Number of flows that have ended, and of all flows. */
  done: number
  flows: number
  /** Acknowledged payload, and the payload of all flows. */
  ackedBytes: number
  bytes: number
}
