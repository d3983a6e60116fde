import type { PathFigures } from '../control/messages.js'
import type { ConnectionStats } from '../nic/types.js'

/** What path selection did for a flow, as results and messages name it. */
export function pathFigures(stats: ConnectionStats): PathFigures {
  return {
    sourcePort: stats.sourcePort,
    moves: stats.pathMoves,
    probes: stats.pathProbes,
    probeBytes: stats.pathProbeBytes,
    delayedNs: stats.admissionDelayNs,
  }
}
