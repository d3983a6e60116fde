import type { Nanos } from '../../time/nanos.js'
import type { PathProbes } from '../telemetry/path-probes.js'

/**
 * Where a flow is in choosing its path. Only a `settled` one sends data.
 *
 * new → choosing → settled ⇄ draining, and from choosing → waiting → settled where no path has room.
 */
type PathPhase = 'new' | 'choosing' | 'waiting' | 'settled' | 'draining'

/** What the NIC keeps of the path selection of one flow; PathSelector does the work. */
export interface FlowPaths {
  phase: PathPhase
  /** Made when the flow first has something to send. */
  probes: PathProbes | null
  /** Index of the path that the flow takes. */
  current: number
  /** Index of a better one, as the last round showed; -1: there is none. */
  better: number
  /** When the next round of probes may begin. */
  nextRoundNs: Nanos
  /** No move before this time: the effect of the last one has to show in what is measured. */
  holdUntilNs: Nanos
  /** When draining or waiting began, and when it is given up. */
  sinceNs: Nanos
  untilNs: Nanos
}

export function newFlowPaths(): FlowPaths {
  return {
    phase: 'new',
    probes: null,
    current: 0,
    better: -1,
    nextRoundNs: 0,
    holdUntilNs: 0,
    sinceNs: 0,
    untilNs: 0,
  }
}
