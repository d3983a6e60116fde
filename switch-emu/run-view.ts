import type { RunResult } from '../lib/scenario/result/result.js'
import type { Nanos } from '../lib/time/nanos.js'

/** The progress of a run. */
export interface RunView {
  on: RunResult['on']
  /** Since the traffic's start. */
  timeNs: Nanos
  /** When the run ends in any case; absent: with its last flow. */
  durationNs?: Nanos
  /** Flows that have ended, and all of them. */
  done: number
  flows: number
  /** Payload that has been acknowledged, and that of all flows. */
  ackedBytes: number
  bytes: number
}
