import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import type { PortResult } from '../../lib/scenario/result/result.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { Switch } from '../core/switch.js'
import { linksOf } from '../node-links.js'
import { findDeadlock } from './find-deadlock.js'

/**
 * Returns the results of every port of every switch from the start of the window until `now`, by switch and
 * port number.
 */
export function portResults(scenario: Scenario, switches: readonly Switch[], now: Nanos): PortResult[] {
  const topology = new Topology(scenario)
  const deadlocked = findDeadlock(scenario, switches, now)
  return switches.flatMap(sw =>
    linksOf(scenario, sw.name).map(({ port, peer }) => {
      const figures = sw.figures(now, port)
      const { pausesSent = 0, ...additions } = sw.additions(now, port, figures)
      const ownBytes = sw.ownMemory.mostBytes(port)
      const stuck = deadlocked.filter(queue => queue.switch === sw.name && queue.port === port)
      return {
        switch: sw.name,
        port,
        name: portName(topology, sw.name, port),
        peer: peer.node,
        rateBps: figures.rateBps,
        txBytes: figures.txBytes,
        utilization: figures.capacityBytes > 0 ? figures.txBytes / figures.capacityBytes : null,
        maxQueueBytes: figures.maxQueueBytes,
        meanQueueBytes: figures.meanQueueBytes,
        ecnMarks: figures.ecnMarks,
        pausesSent,
        pausedNs: figures.pausedNs,
        drops: figures.drops,
        ...(ownBytes > 0 && { maxOwnBytes: ownBytes }),
        ...(figures.drops > 0 && { dropsByReason: nonZero(figures.dropsByReason) }),
        ...(stuck.length > 0 && { deadlocked: stuck.map(({ priority }) => priority) }),
        ...additions,
      }
    }),
  )
}

function nonZero(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
