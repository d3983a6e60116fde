import { createHash } from 'node:crypto'
import { settingsOf } from '../../lib/scenario/model/settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { FlowResult, PortResult, RunResult, ScenarioText } from '../../lib/scenario/result/result.js'
import { totalsOf } from '../../lib/scenario/result/totals.js'

/** Results that are made up for tests: a test changes what it is about, the rest is plausible. */
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
    spuriousRetransmissions: 0,
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

export function scenarioText(name: string): ScenarioText {
  const text = 'hosts: [h1, h2]\nlinks: [h1--h2]\n'
  return { name, file: `${name}.yaml`, sha256: createHash('sha256').update(text).digest('hex'), text }
}

/** With the totals of its flows and ports. */
export function runResult(change: Partial<RunResult> = {}): RunResult {
  const { flows = [flowResult('flow0')], ports = [portResult('s1:s2')] } = change
  const scenario = scenarioText('dumbbell')
  return {
    version: '1.2.3',
    scenario,
    on: 'virtual',
    seed: 1,
    settings: settingsOf(parseScenario(scenario.text, scenario.file)),
    totals: totalsOf(flows, ports),
    flows,
    ports,
    series: {},
    events: 1000,
    machine: { node: '20.15.0', os: 'Linux 6', arch: 'x64', cpus: 2, cpuModel: 'x', memoryBytes: 1 << 30 },
    wallSeconds: 0.5,
    ...change,
  }
}
