import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { type RealTimeOptions, runTraffic } from '../real-time/run-traffic.js'
import { VethLab } from './veth-lab.js'

/** Runs a scenario in real time over veth pairs between network namespaces. See `runTraffic`. */
export async function runVeth(scenario: Scenario, options: RealTimeOptions = {}): Promise<RunResult> {
  return await runTraffic(VethLab.up, 'veth', scenario, options)
}
