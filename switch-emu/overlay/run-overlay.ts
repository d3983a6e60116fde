import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { type RealTimeOptions, runTraffic } from '../real-time/run-traffic.js'
import { OverlayLab } from './lab.js'

/** Runs a scenario in real time, with VXLAN on loopback between its processes. See `runTraffic`. */
export async function runOverlay(scenario: Scenario, options: RealTimeOptions = {}): Promise<RunResult> {
  return await runTraffic(OverlayLab.up, 'overlay', scenario, options)
}
