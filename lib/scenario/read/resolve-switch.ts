/**
 * Settings of one switch in a scenario file. The comments of `ScenarioSwitch` in model/scenario.ts give
 * SONiC's names.
 */

import { show } from '../../options/read-value.js'
import { formatBytes } from '../../units/units.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { EcnSettings, PfcSettings, ScenarioSwitch, WatchdogSettings } from '../model/scenario.js'
import { checkShape } from '../schema/check-shape.js'
import { switchSchema, WEIGHT_MAX } from '../schema/switch.js'
import { checkAiEcn } from './check-ai-ecn.js'
import { checkLargeFlows } from './check-large-flows.js'
import { resolveFeature, resolveFeatures } from './resolve-features.js'
import { resolveSwitchTelemetry } from './resolve-telemetry.js'

const DEFAULT_BUFFER_BYTES = 32e6
/** With a static threshold the peer may resume at this share of xoff. */
const DEFAULT_XON_SHARE = 0.8
/** With a dynamic threshold: SONiC's xon_offset, 11 cells of 208 bytes. */
const DEFAULT_XON_OFFSET_BYTES = 2288
/** Features whose rules involve other settings than their own. */
const RESOLVED_HERE = ['ecn', 'pfc', 'watchdog', 'telemetry', 'direct']
const PRIORITIES = 8
const DSCPS = 64

/**
 * Returns a switch's settings without its name. `id` is 0 if none is given. Returns null if the value is no
 * mapping.
 */
export function resolveSwitch(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
): Omit<ScenarioSwitch, 'name'> | null {
  const shape = checkShape(problems, path, switchSchema, value, 'a switch')
  if (shape === null) return null
  const given = shape as Readonly<Record<string, unknown>>
  const bufferBytes = shape.buffer ?? DEFAULT_BUFFER_BYTES
  const { queueBytesMax } = shape
  if (queueBytesMax !== undefined && queueBytesMax > bufferBytes) {
    const buffer = formatBytes(bufferBytes)
    problems.at([...path, 'queueBytesMax'], `a queue cannot hold more than the buffer (${buffer})`)
  }
  const ecn = resolveEcn(problems, [...path, 'ecn'], given.ecn)
  const pfc = resolvePfc(problems, [...path, 'pfc'], given.pfc, bufferBytes)
  const dscpToTc = resolveMap(problems, [...path, 'dscpToTc'], shape.dscpToTc, 'DSCP', DSCPS)
  const pcpToTc = resolveMap(problems, [...path, 'pcpToTc'], shape.pcpToTc, 'PCP', PRIORITIES)
  const weights = resolveScheduler(problems, [...path, 'scheduler'], shape.scheduler)
  const telemetry = resolveSwitchTelemetry(problems, [...path, 'telemetry'], given.telemetry)
  const features = resolveFeatures(problems, path, given, RESOLVED_HERE)
  checkLargeFlows(problems, path, { ecn, pfc, features })
  checkAiEcn(problems, path, { ecn, features })
  return {
    id: shape.id ?? 0,
    bufferBytes,
    ...(queueBytesMax !== undefined && { queueBytesMax }),
    ...(ecn && { ecn }),
    ...(pfc && { pfc }),
    ...(dscpToTc && { dscpToTc }),
    ...(pcpToTc && { pcpToTc }),
    ...(weights && { weights }),
    ...(telemetry && { telemetry }),
    ...(features && { features }),
  }
}

/** Takes one marking for all queues, or a list of markings, each for the priorities that it names. */
function resolveEcn(problems: Problems, path: DocumentPath, value: unknown): EcnSettings[] | undefined {
  if (value === undefined) return undefined
  const items = Array.isArray(value)
    ? value.map((item, i) => ({ item, at: [...path, i] }))
    : [{ item: value, at: path }]
  const found: EcnSettings[] = []
  const taken = new Set<number>()
  for (const { item, at } of items) {
    const marking = resolveFeature<EcnSettings>(problems, at, 'ecn', item)
    if (marking === null) continue
    checkThresholds(problems, at, marking)
    if (marking.large !== undefined) checkThresholds(problems, [...at, 'large'], marking.large)
    const priorities = sortedSet(marking.priorities)
    const twice = priorities.find(p => taken.has(p))
    if (twice !== undefined) problems.at(at, `priority ${twice} is marked by another entry already`)
    for (const p of priorities) taken.add(p)
    found.push({ ...marking, priorities })
  }
  return found.length > 0 ? found : undefined
}

function checkThresholds(
  problems: Problems,
  path: DocumentPath,
  { kminBytes, kmaxBytes }: Pick<EcnSettings, 'kminBytes' | 'kmaxBytes'>,
): void {
  if (kminBytes <= kmaxBytes) return
  const [kmin, kmax] = [formatBytes(kminBytes), formatBytes(kmaxBytes)]
  problems.at([...path, 'kmin'], `kmin (${kmin}) must not be above kmax (${kmax})`)
}

function resolvePfc(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
  bufferBytes: number,
): PfcSettings | undefined {
  // YAML 1.2 reads `off` as a string.
  if (value === undefined || value === 'off' || value === false) return undefined
  const pfc = resolveFeature<PfcSettings>(problems, path, 'pfc', value, 'pfc (or it is off)')
  if (pfc === null) return undefined
  const { xoffBytes, xonBytes, xonOffsetBytes, reservedBytes } = pfc
  const { watchdog: given } = value as { watchdog?: unknown }
  const watchdog =
    given === undefined
      ? null
      : resolveFeature<WatchdogSettings>(problems, [...path, 'watchdog'], 'watchdog', given)
  checkThreshold(problems, path, value as object)
  if (xoffBytes !== undefined) {
    const tooHigh = (name: string, bytes: number | undefined) => {
      if (bytes !== undefined && bytes >= xoffBytes)
        problems.at([...path, name], `${name} must be below xoff`)
    }
    tooHigh('xon', xonBytes)
    tooHigh('xonOffset', xonOffsetBytes)
    tooHigh('reserved', reservedBytes)
    if (xoffBytes >= bufferBytes) {
      const buffer = formatBytes(bufferBytes)
      problems.at([...path, 'xoff'], `xoff must lie below the buffer (${buffer}), or nothing is ever paused`)
    }
  }
  return {
    ...pfc,
    ...(xonBytes === undefined && xonOffsetBytes === undefined && usualXon(xoffBytes)),
    priorities: sortedSet(pfc.priorities),
    ...(watchdog && { watchdog }),
  }
}

function checkThreshold(problems: Problems, path: DocumentPath, given: object): void {
  if ('xoff' in given && 'alpha' in given) {
    problems.at([...path, 'alpha'], 'alpha is a dynamic threshold and xoff a static one; give one of them')
  } else if (!('xoff' in given || 'alpha' in given)) {
    problems.at(
      path,
      'xoff is missing: a size (500KB), or instead of it alpha, a share of the free memory (1)',
    )
  }
}

/** Default of the threshold at which the peer may resume. */
function usualXon(xoffBytes: number | undefined): Pick<PfcSettings, 'xonBytes' | 'xonOffsetBytes'> {
  return xoffBytes === undefined
    ? { xonOffsetBytes: DEFAULT_XON_OFFSET_BYTES }
    : { xonBytes: Math.floor(xoffBytes * DEFAULT_XON_SHARE) }
}

/** Takes a map from numbers below `size` to priorities. */
function resolveMap(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
  what: string,
  size: number,
): Record<number, number> | undefined {
  if (value === undefined) return undefined
  const map = entriesOf(problems, path, value, `a mapping of ${what} to priority ({${size - 8}: 3})`)
  const found: Record<number, number> = {}
  for (const [key, priority] of map) {
    if (!isBelow(key, size))
      problems.atKey([...path, key], `a ${what} is a whole number from 0 to ${size - 1}, not ${key}`)
    else if (!isPriority(priority)) {
      problems.at([...path, key], `a priority is a whole number from 0 to 7, not ${show(priority)}`)
    } else found[Number(key)] = priority
  }
  return found
}

/** Returns the DWRR weights by priority, 0 for strict ones. */
function resolveScheduler(problems: Problems, path: DocumentPath, value: unknown): number[] | undefined {
  if (value === undefined || value === 'strict') return undefined
  const weights = new Array<number>(PRIORITIES).fill(0)
  const map = entriesOf(
    problems,
    path,
    value,
    'strict, or a mapping of priorities to weights ({0: 30, 3: 70})',
  )
  for (const [key, weight] of map) {
    if (!isBelow(key, PRIORITIES)) {
      problems.atKey([...path, key], `a priority is a whole number from 0 to 7, not ${key}`)
    } else if (weight === 'strict') {
      weights[Number(key)] = 0
    } else if (
      typeof weight === 'number' &&
      Number.isInteger(weight) &&
      weight >= 1 &&
      weight <= WEIGHT_MAX
    ) {
      weights[Number(key)] = weight
    } else {
      problems.at(
        [...path, key],
        `a weight is a whole number from 1 to ${WEIGHT_MAX}, or strict, not ${show(weight)}`,
      )
    }
  }
  return weights
}

function entriesOf(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
  what: string,
): [string, unknown][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
  problems.at(path, `${String(path.at(-1))} is ${what}, not ${show(value)}`)
  return []
}

function isBelow(key: string, bound: number): boolean {
  return /^\d{1,3}$/.test(key) && Number(key) < bound
}

function isPriority(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < PRIORITIES
}

function sortedSet(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b)
}
