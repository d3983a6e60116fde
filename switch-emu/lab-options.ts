/** What a program hands to `weir-roce/lab`: its options, and checks, which all throw WEIR_BAD_ARGUMENT. */
import { checkInstance, checkObject, checkText, knownOptions, optionNames } from '../lib/arguments.js'
import { WeirError } from '../lib/errors.js'
import { checkValue } from '../lib/options/check-options.js'
import { MOST } from '../lib/options/option.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import type { CapturePlace } from './captures/port-captures.js'
import type { RunView } from './results/run-view.js'

/** Where a scenario runs. */
export type Place = RunResult['on']

export const LAB_PLACES = ['overlay', 'veth'] as const
export const PLACES = ['virtual', ...LAB_PLACES] as const

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

const SHARED = { on: true, captures: true } as const
const NAMES = {
  runScenario: optionNames<RunOptions>({ ...SHARED, seed: true, onProgress: true }),
  withLab: optionNames<LabOptions>(SHARED),
} as const
const CAPTURE_NAMES = optionNames<CapturePlace>({
  folder: true,
  snapBytes: true,
  bytesMax: true,
  mayStop: true,
})

/** As in scenario files. */
const SEED = { name: 'seed', kind: 'count', min: 0, max: MOST, doc: 'seed of every random choice' } as const

const MAY_STOP = { name: 'mayStop', kind: 'flag', doc: 'a capture that cannot be written stops' } as const

/** @param what the call, for messages */
export function checkScenario(what: string, scenario: Scenario): void {
  checkObject(what, 'scenario', scenario)
  if (Array.isArray(scenario.flows) && typeof scenario.text === 'string') return
  const text = `${what}: scenario is what loadScenario, parseScenario or scenarioFrom returns; scenarioFrom makes one of an object with the keys of a scenario file`
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}

export function checkResult(what: string, result: RunResult): void {
  checkObject(what, 'result', result)
  if (Array.isArray(result.flows) && Array.isArray(result.ports)) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${what}: result is what runScenario resolves with, or weir run --json writes`,
  )
}

export function checkColumns(what: string, columns: number): void {
  if (typeof columns === 'number' && columns >= 1) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: columns is a number from 1, not ${String(columns)}`)
}

/**
 * The options of a call, with the inherited ones as its own.
 *
 * @param places that `on` may name
 */
export function checkedOptions<Options extends RunOptions>(
  what: keyof typeof NAMES,
  places: readonly Place[],
  options: Options,
): Options {
  const given = knownOptions(what, NAMES[what], options)
  const { on, captures, seed, onProgress } = given
  if (on !== undefined && !places.includes(on))
    throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: on is ${places.join(' or ')}, not ${String(on)}`)
  if (seed !== undefined) checkValue(what, SEED, seed)
  if (onProgress !== undefined) checkInstance(what, 'onProgress', Function, onProgress)
  return captures === undefined ? given : { ...given, captures: checkedCaptures(what, captures) }
}

/** Ranges are checked where files are written. */
function checkedCaptures(what: string, captures: CapturePlace): CapturePlace {
  const given = knownOptions(`${what}, captures`, CAPTURE_NAMES, captures)
  checkText(`${what}, captures`, 'folder', given.folder)
  if (given.mayStop !== undefined) checkValue(`${what}, captures`, MAY_STOP, given.mayStop)
  return given
}
