/** Every feature of a switch, in the order in which the stages of a frame's way call them: the one place to add a new one. */
import { DeadlockPrevention, type DeadlockPreventionOptions } from './deadlock-prevention.js'
import { type DirectResponseOptions, DirectResponses } from './direct-responses.js'
import type { FeatureSwitch, SwitchFeature } from './feature.js'
import type { PfcOptions } from './ingress-accounting.js'
import { IntStamper } from './int-stamper.js'
import type { LoadViewOptions } from './load-view.js'
import { Marking, type MarkingOptions } from './marking.js'
import { losslessMaskOf, Pfc, type PfcReport } from './pfc.js'
import { PfcWatchdog, queuesOf, type WatchdogOptions, type WatchdogReport } from './pfc-watchdog.js'
import type { QueueTimers } from './queue-timers.js'

/** Features of a switch and their options, by name. Absent or false: the feature is off. */
export interface FeatureOptions {
  /** WRED and ECN. */
  ecn?: MarkingOptions | false
  /** Priority flow control. Off: every priority is lossy, and pauses are not obeyed. */
  pfc?: PfcOptions | false
  /** Telemetry in packets that collect it. On by default; off: they pass as they came, as through a switch that knows no INT. */
  telemetry?: LoadViewOptions | false
  /** Telemetry that the switch sends by itself. */
  direct?: DirectResponseOptions | false
  /** Detection and clearance of PFC deadlocks. */
  watchdog?: WatchdogOptions | false
  /** Off: every packet keeps its priority. */
  deadlockPrevention?: DeadlockPreventionOptions | false
}

/** What features add to the report of a port; absent: the feature is off. */
export interface FeatureReports extends Partial<PfcReport> {
  watchdog?: WatchdogReport
  /** Frames for this port that deadlock prevention has moved to another priority. */
  movedFrames?: number
  /** Responses that the switch has sent by itself about congestion of this port. */
  directResponses?: number
}

/** What the catalogue says of a feature. */
export interface FeatureEntry {
  /** The key of its options. */
  name: string
  /** Options that it has where none are given. Default: it is off then. */
  standard?: unknown
  /** Bit p: it makes priority p lossless, as its options have it. Default: none. */
  losslessMask?(options: never): number
  create(options: never, sw: FeatureSwitch, timers: QueueTimers): SwitchFeature
}

export const FEATURES: readonly FeatureEntry[] = [
  { name: 'ecn', create: (options: MarkingOptions, sw) => new Marking(options, sw) },
  { name: 'pfc', losslessMask: losslessMaskOf, create: (options: PfcOptions, sw) => new Pfc(options, sw) },
  { name: 'telemetry', standard: {}, create: (options: LoadViewOptions, sw) => new IntStamper(options, sw) },
  { name: 'direct', create: (options: DirectResponseOptions, sw) => new DirectResponses(options, sw) },
  {
    name: 'watchdog',
    create: (options: WatchdogOptions, sw, timers) =>
      new PfcWatchdog(sw.ports.length, options, queuesOf(sw), timers),
  },
  {
    name: 'deadlockPrevention',
    create: (options: DeadlockPreventionOptions) => new DeadlockPrevention(options),
  },
]
