import { mean, percentile } from './fairness.js'
import type { FlowResult, PortResult, Spread, Totals, WatchdogTotals } from './result.js'

/** Sums up the flows and ports of a result. */
export function totalsOf(flows: readonly FlowResult[], ports: readonly PortResult[]): Totals {
  const done = flows.filter(flow => flow.fctNs !== null)
  const refused = flows.filter(flow => flow.refused !== undefined).length
  const failed = flows.filter(flow => flow.failed !== undefined).length
  return {
    flows: flows.length,
    finished: done.length,
    unfinished: flows.length - done.length,
    refused,
    failed,
    ackedBytes: sum(flows, flow => flow.ackedBytes),
    retransmittedBytes: sum(flows, flow => flow.retransmittedBytes),
    spuriousRetransmissions: sum(flows, flow => flow.spuriousRetransmissions),
    timeouts: sum(flows, flow => flow.timeouts),
    moves: sum(flows, flow => flow.paths?.moves ?? 0),
    drops: sum(ports, port => port.drops),
    completionNs: spreadOf(done.map(flow => flow.fctNs)),
    slowdown: spreadOf(done.map(flow => flow.slowdown)),
    goodputBps: spreadOf(done.map(flow => flow.goodputBps)),
    deadlockedPorts: ports.filter(port => port.deadlocked !== undefined).length,
    movedFrames: sum(ports, port => port.movedFrames ?? 0),
    watchdog: watchdogTotals(ports),
  }
}

/** Returns the spread of the known values, or null if none is known. */
function spreadOf(values: readonly (number | null)[]): Spread | null {
  const known = values.filter(value => value !== null)
  if (known.length === 0) return null
  const at = (p: number) => percentile(known, p)
  return { mean: mean(known), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

function watchdogTotals(ports: readonly PortResult[]): WatchdogTotals | null {
  const found = ports.flatMap(({ watchdog }) => (watchdog === undefined ? [] : [watchdog]))
  if (found.length === 0) return null
  const times = found.flatMap(({ events }) => events.map(({ atNs }) => atNs)).sort((a, b) => a - b)
  return {
    detected: sum(found, one => one.detected),
    restored: sum(found, one => one.restored),
    turnedOff: sum(found, one => one.turnedOff),
    droppedFrames: sum(found, one => one.droppedFrames),
    forwardedFrames: sum(found, one => one.forwardedFrames),
    firstNs: times[0] ?? null,
    lastNs: times.at(-1) ?? null,
  }
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
