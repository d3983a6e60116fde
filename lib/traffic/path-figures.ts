import type { PathFigures } from '../control/messages.js'
import type { ConnectionStats } from '../nic/types.js'

/** Returns what path selection did for a flow, by the names of results and messages. */
export function pathFigures(stats: ConnectionStats): PathFigures {
  return {
    sourcePort: stats.sourcePort,
    moves: stats.pathMoves,
    probes: stats.pathProbes,
    probeBytes: stats.pathProbeBytes,
    delayedNs: stats.admissionDelayNs,
  }
}
