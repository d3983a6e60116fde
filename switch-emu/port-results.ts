import type { PfcPortResult, PortResult } from '../lib/scenario/result.js'
import type { Scenario } from '../lib/scenario/scenario.js'
import { portName, Topology } from '../lib/scenario/topology.js'
import type { Nanos } from '../lib/time/nanos.js'
import type { PortReport } from './core/port-report.js'
import type { Switch } from './core/switch.js'
import { deadlockResult } from './deadlock-results.js'
import { findDeadlock } from './find-deadlock.js'
import { linksOf } from './node-links.js'

/** What every port of every switch did from the start of the window until `now`, by switch and port number. */
export function portResults(scenario: Scenario, switches: readonly Switch[], now: Nanos): PortResult[] {
  const topology = new Topology(scenario)
  const deadlocked = findDeadlock(scenario, switches, now)
  return switches.flatMap(sw =>
    linksOf(scenario, sw.name).map(({ port, peer }) => {
      const report = sw.report(now, port)
      const couldCarry = (report.rateBps * report.windowNs) / 8e9
      return {
        switch: sw.name,
        port,
        name: portName(topology, sw.name, port),
        peer: peer.node,
        rateBps: report.rateBps,
        txBytes: report.txBytes,
        utilization: couldCarry > 0 ? report.txBytes / couldCarry : null,
        maxQueueBytes: report.maxQueueBytes,
        meanQueueBytes: report.meanQueueBytes,
        ecnMarks: report.ecnMarks,
        pausesSent: report.pausesSent,
        pausedNs: report.pausedNs,
        drops: report.drops,
        ...(report.drops > 0 && { dropsByReason: nonZero(report.dropsByReason) }),
        ...(sw.accounting !== null && { pfc: pfcResult(report) }),
        ...(report.directResponses !== undefined && { directResponses: report.directResponses }),
        ...deadlockResult(report, deadlocked, now - report.windowNs),
      }
    }),
  )
}

function pfcResult(report: PortReport): PfcPortResult {
  const { pausesReceived, pausedNsByPriority, maxIngressBytes, maxHeadroomBytes } = report
  return { pausesReceived, pausedNsByPriority, maxIngressBytes, maxHeadroomBytes }
}

function nonZero(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
