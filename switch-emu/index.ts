/** `weir-roce/lab`: scenarios, and the networks that they describe, for programs. */
import { stringify } from 'yaml'
import { checkInstance, checkObject, checkText } from '../lib/arguments.js'
import { WeirError } from '../lib/errors.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { loadScenario as load, parseScenario as parse } from '../lib/scenario/read/load-scenario.js'
import { printTables as tablesOf } from '../lib/scenario/result/print-tables.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { resultJson as jsonOf } from '../lib/scenario/result/write-result.js'
import {
  checkColumns,
  checkedOptions,
  checkResult,
  checkScenario,
  LAB_PLACES,
  type LabOptions,
  PLACES,
  type RunOptions,
} from './lab-options.js'
import { type Lab, withLab as withLabOf } from './real-time/lab.js'

export type { Progress } from '../lib/client/daemon-client.js'
export { ERROR_CODES, type ErrorCode, WeirError } from '../lib/errors.js'
export type * from '../lib/scenario/model/scenario.js'
export { type BundledScenario, bundledScenarios } from '../lib/scenario/read/bundled-scenarios.js'
export type * from '../lib/scenario/result/result.js'
export type { CapturePlace } from './captures/port-captures.js'
export type { LabOptions, Place, RunOptions } from './lab-options.js'
export type { Lab, LabHost } from './real-time/lab.js'
export type { RunView } from './results/run-view.js'

/**
 * Reads a scenario file, or the scenario of that name that comes with the package. Throws WEIR_NO_FILE if it cannot be read, and all
 * that `parseScenario` throws.
 */
export function loadScenario(path: string): Scenario {
  checkText('loadScenario', 'path', path)
  return load(path)
}

/**
 * Resolves the text of a scenario file. Throws WEIR_BAD_SCENARIO. Its message has one line for each problem:
 * `file:line:column: the mistake and the choices`.
 */
export function parseScenario(text: string, fileName: string): Scenario {
  // An empty file has problems of its own.
  if (text !== '') checkText('parseScenario', 'text', text)
  checkText('parseScenario', 'fileName', fileName)
  return parse(text, fileName)
}

/**
 * Makes a scenario from an object with the keys of a scenario file: `{ hosts: ['h1', 'h2'], links: ['h1--s1',
 * …], … }`. Throws WEIR_BAD_SCENARIO as `parseScenario` does, and WEIR_BAD_ARGUMENT for what is no object.
 *
 * @param name file name in messages. Their lines are those of the object as YAML
 */
export function scenarioFrom(object: object, name = 'scenario'): Scenario {
  checkObject('scenarioFrom', 'object', object)
  return parseScenario(yamlOf(object), name)
}

function yamlOf(object: object): string {
  try {
    return stringify(object)
  } catch (cause) {
    const text = `scenarioFrom: the object has values that no file can have: ${(cause as Error).message}`
    throw new WeirError('WEIR_BAD_ARGUMENT', text, { cause })
  }
}

/**
 * Formats a result for people, as `weir run` prints it: tables as plain text. Throws WEIR_BAD_ARGUMENT for what is no result.
 *
 * @param columns of the terminal; wider tables are folded. Default: they are not
 */
export function printTables(result: RunResult, columns = Number.POSITIVE_INFINITY): string {
  checkResult('printTables', result)
  checkColumns('printTables', columns)
  return tablesOf(result, columns)
}

/** Formats a result as `weir run --json` writes it. Throws WEIR_BAD_ARGUMENT for what is no result. */
export function resultJson(result: RunResult): string {
  checkResult('resultJson', result)
  return jsonOf(result)
}

/**
 * Runs a scenario. Resolves with the result that `weir run --json` writes. A flow that lost its connection
 * has `failed` in the result. After a run whose time (`duration`) is up, `fctNs` of unfinished flows is null.
 *
 * Throws WEIR_BAD_ARGUMENT for an option out of range, or that nothing reads, WEIR_UNSUPPORTED where the
 * machine does not allow the place, WEIR_BAD_SCENARIO for what the place cannot do, WEIR_UNREACHABLE when a
 * connection cannot be made, WEIR_NO_FILE when a capture cannot be written, and WEIR_CANCELLED after SIGINT
 * or SIGTERM in real time, after its processes have ended.
 */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<RunResult> {
  checkScenario('runScenario', scenario)
  const { on = 'virtual', ...rest } = checkedOptions('runScenario', PLACES, options)
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
 * Throws what `work` throws, WEIR_BAD_ARGUMENT for an option that nothing reads, WEIR_UNSUPPORTED where the machine
 * does not allow the network, and WEIR_CANCELLED after SIGINT or SIGTERM.
 */
export async function withLab<T>(
  scenario: Scenario,
  options: LabOptions,
  work: (lab: Lab, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  checkScenario('withLab', scenario)
  checkInstance('withLab', 'work', Function, work)
  const { on = 'overlay', captures } = checkedOptions('withLab', LAB_PLACES, options)
  const up =
    on === 'veth'
      ? (await import('./lab/veth-lab.js')).VethLab.up
      : (await import('./overlay/lab.js')).OverlayLab.up
  return await withLabOf<Lab, T>(up, scenario, work, { captures })
}
