/** `weir-roce/lab`: scenarios, and the networks that they describe, for programs. */
import { stringify } from 'yaml'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import type { CapturePlace } from './captures/port-captures.js'
import { type Lab, withLab as withLabOf } from './real-time/lab.js'
import type { RunView } from './results/run-view.js'

export type { Progress } from '../lib/client/daemon-client.js'
export { ERROR_CODES, type ErrorCode, WeirError } from '../lib/errors.js'
export type * from '../lib/scenario/model/scenario.js'
export { type BundledScenario, bundledScenarios } from '../lib/scenario/read/bundled-scenarios.js'
export { loadScenario, parseScenario } from '../lib/scenario/read/load-scenario.js'
export { printTables } from '../lib/scenario/result/print-tables.js'
export type * from '../lib/scenario/result/result.js'
export { resultJson } from '../lib/scenario/result/write-result.js'
export type { CapturePlace } from './captures/port-captures.js'
export type { Lab, LabHost } from './real-time/lab.js'
export type { RunView } from './results/run-view.js'

/** Where a scenario runs. */
export type Place = RunResult['on']

/** Options of `runScenario`. */
export interface RunOptions {
  /**
   * `virtual` (default): simulated time, as fast as the CPU allows, repeatable to the byte. It occupies this
   * thread most of the time. `overlay`: real time, processes joined by VXLAN on loopback. `veth`: real time,
   * real packets between network namespaces of Linux.
   */
  on?: Place
  /** Seed of every random choice, an integer from 0. Default: the scenario's. */
  seed?: number
  /** Captures every switch port. */
  captures?: CapturePlace
  /** Called several times a second. */
  onProgress?: (view: RunView) => void
}

/** Options of `withLab`. */
export interface LabOptions {
  /**
   * How frames travel. `overlay` (default): VXLAN on loopback. `veth`: veth pairs between network namespaces
   * of Linux.
   */
  on?: Exclude<Place, 'virtual'>
  /** Captures every switch port. */
  captures?: CapturePlace
}

/**
 * Makes a scenario from an object with the keys of a scenario file: `{ hosts: ['h1', 'h2'], links: ['h1--s1',
 * …], … }`. Throws WEIR_BAD_SCENARIO as `parseScenario` does.
 *
 * @param name file name in messages. Their lines are those of the object as YAML
 */
export function scenarioFrom(object: object, name = 'scenario'): Scenario {
  return parseScenario(stringify(object), name)
}

/**
 * Runs a scenario. Resolves with the result that `weir run --json` writes. A flow that lost its connection
 * has `failed` in the result. After a run whose time (`duration`) is up, `fctNs` of unfinished flows is null.
 *
 * Throws WEIR_UNSUPPORTED where the machine does not allow the place, WEIR_BAD_SCENARIO for what the place
 * cannot do, WEIR_UNREACHABLE when a connection cannot be made, WEIR_NO_FILE when a capture cannot be
 * written, and WEIR_CANCELLED after SIGINT or SIGTERM in real time, after its processes have ended.
 */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<RunResult> {
  const { on = 'virtual', ...rest } = options
  if (on === 'virtual') {
    const { VirtualRun } = await import('./virtual/virtual-run.js')
    return await new VirtualRun(scenario, rest).runAside()
  }
  if (on === 'veth') return await (await import('./lab/run-veth.js')).runVeth(scenario, rest)
  return await (await import('./overlay/run-overlay.js')).runOverlay(scenario, rest)
}

/**
 * Brings a scenario's network up, with a daemon on each host, calls `work`, and takes it down again in every
 * case. `lab.host('h1').client` is the daemon of h1, which sends files to `lab.host('h3').address`. The
 * scenario's traffic does not run. `signal` of `work` is aborted when the network is about to end.
 *
 * Throws what `work` throws, WEIR_UNSUPPORTED where the machine does not allow the network, and
 * WEIR_CANCELLED after SIGINT or SIGTERM.
 */
export async function withLab<T>(
  scenario: Scenario,
  options: LabOptions,
  work: (lab: Lab, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { on = 'overlay', captures } = options
  const up =
    on === 'veth'
      ? (await import('./lab/veth-lab.js')).VethLab.up
      : (await import('./overlay/lab.js')).OverlayLab.up
  return await withLabOf<Lab, T>(up, scenario, work, { captures })
}
