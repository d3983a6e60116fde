import type { FlowResult, PortResult, RunResult } from '../../lib/scenario/result.js'

/** Results made up for tests: change what a test is about, the rest is plausible. */
export function flowResult(name: string, change: Partial<FlowResult> = {}): FlowResult {
  return {
    name,
    from: 'h1',
    to: 'h3',
    bytes: 40_000_000,
    startNs: 0,
    fctNs: 6_123_456_789,
    idealFctNs: 3_300_000_000,
    slowdown: 1.8556,
    goodputBps: 52_258_202,
    retransmittedBytes: 0,
    timeouts: 0,
    ackedBytes: 40_000_000,
    ...change,
  }
}

export function portResult(name: string, change: Partial<PortResult> = {}): PortResult {
  const [node = '', peer = ''] = name.split(':')
  return {
    switch: node,
    port: 0,
    name,
    peer,
    rateBps: 100_000_000,
    txBytes: 71_000_000,
    utilization: 0.9312,
    maxQueueBytes: 110_090,
    meanQueueBytes: 254.4,
    ecnMarks: 12,
    pausesSent: 0,
    pausedNs: 0,
    drops: 0,
    ...change,
  }
}

export function runResult(change: Partial<RunResult> = {}): RunResult {
  return {
    scenario: 'dumbbell',
    on: 'virtual',
    seed: 1,
    flows: [flowResult('flow0')],
    ports: [portResult('s1:s2')],
    series: {},
    wallSeconds: 0.5,
    events: 1000,
    ...change,
  }
}
