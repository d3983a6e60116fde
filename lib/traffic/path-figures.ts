import type { ConnectionStats } from '../nic/types.js'

/** What path selection did for a flow, as results and messages name it. */
export interface PathFigures {
  sourcePort: number
  moves: number
  probes: number
  probeBytes: number
  delayedNs: number
}

export function pathFigures(stats: ConnectionStats): PathFigures {
  return {
    sourcePort: stats.sourcePort,
    moves: stats.pathMoves,
    probes: stats.pathProbes,
    probeBytes: stats.pathProbeBytes,
    delayedNs: stats.admissionDelayNs,
  }
}
