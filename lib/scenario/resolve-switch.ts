/**
 * Settings of one switch in a scenario file. Where SONiC has a name for one, that name or its meaning is in the comments
 * of `Switch` in scenario.ts.
 */
import { formatBytes } from '../units/units.js'
import type { Path, Problems } from './problems.js'
import { resolveSwitchTelemetry } from './resolve-telemetry.js'
import type { EcnSettings, PfcSettings, Switch } from './scenario.js'
import { checkShape } from './schema/check-shape.js'
import { show } from './schema/fields.js'
import { ecnSchema, pfcSchema, switchSchema, WEIGHT_MAX } from './schema/switch.js'
import { resolveWatchdog } from './watchdog.js'

const DEFAULT_BUFFER_BYTES = 32e6
const DEFAULT_PMAX = 0.2
/** Where flows are by default. */
const DEFAULT_PFC_PRIORITIES = [3]
/** Static thresholds: the peer may go on at this share of xoff. */
const DEFAULT_XON_SHARE = 0.8
/** Dynamic thresholds: SONiC's xon_offset, 11 cells of 208 bytes. */
const DEFAULT_XON_OFFSET_BYTES = 2288
const PRIORITIES = 8
const DSCPS = 64

/** A switch's settings without its name; `id` is 0 if none is given. Null if they are no mapping. */
export function resolveSwitch(problems: Problems, path: Path, value: unknown): Omit<Switch, 'name'> | null {
  const shape = checkShape(problems, path, switchSchema, value, 'a switch')
  if (shape === null) return null
  const bufferBytes = shape.buffer ?? DEFAULT_BUFFER_BYTES
  const { queueBytesMax } = shape
  if (queueBytesMax !== undefined && queueBytesMax > bufferBytes) {
    const buffer = formatBytes(bufferBytes)
    problems.at([...path, 'queueBytesMax'], `a queue cannot hold more than the buffer (${buffer})`)
  }
  const ecn = resolveEcn(problems, [...path, 'ecn'], shape.ecn)
  const pfc = resolvePfc(problems, [...path, 'pfc'], shape.pfc, bufferBytes)
  const dscpToTc = resolveMap(problems, [...path, 'dscpToTc'], shape.dscpToTc, 'DSCP', DSCPS)
  const pcpToTc = resolveMap(problems, [...path, 'pcpToTc'], shape.pcpToTc, 'PCP', PRIORITIES)
  const weights = resolveScheduler(problems, [...path, 'scheduler'], shape.scheduler)
  const telemetry = resolveSwitchTelemetry(problems, [...path, 'telemetry'], shape.telemetry)
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
  }
}

/** One marking for all queues, or a list of markings, each for the priorities that it names. */
function resolveEcn(problems: Problems, path: Path, value: unknown): EcnSettings[] | undefined {
  if (value === undefined) return undefined
  const items = Array.isArray(value)
    ? value.map((item, i) => ({ item, at: [...path, i] }))
    : [{ item: value, at: path }]
  const found: EcnSettings[] = []
  const taken = new Set<number>()
  for (const { item, at } of items) {
    const shape = checkShape(problems, at, ecnSchema, item, 'ecn')
    if (shape?.kmin === undefined || shape.kmax === undefined) continue
    if (shape.kmin > shape.kmax) {
      problems.at(
        [...at, 'kmin'],
        `kmin (${formatBytes(shape.kmin)}) must not be above kmax (${formatBytes(shape.kmax)})`,
      )
    }
    const priorities = sortedSet(shape.priorities ?? [...Array(PRIORITIES).keys()])
    const twice = priorities.find(p => taken.has(p))
    if (twice !== undefined) problems.at(at, `priority ${twice} is marked by another entry already`)
    for (const p of priorities) taken.add(p)
    found.push({
      kminBytes: shape.kmin,
      kmaxBytes: shape.kmax,
      pmax: shape.pmax ?? DEFAULT_PMAX,
      at: shape.at ?? 'enqueue',
      priorities,
    })
  }
  return found.length > 0 ? found : undefined
}

function resolvePfc(
  problems: Problems,
  path: Path,
  value: unknown,
  bufferBytes: number,
): PfcSettings | undefined {
  // YAML 1.2 reads `off` as text.
  if (value === undefined || value === 'off' || value === false) return undefined
  const shape = checkShape(problems, path, pfcSchema, value, 'pfc (or it is off)')
  if (shape === null) return undefined
  const { xoff, alpha, xon, xonOffset, headroom, reserved, quanta } = shape
  const watchdog = resolveWatchdog(problems, [...path, 'watchdog'], shape.watchdog)
  const given = value as object
  if ('xoff' in given && 'alpha' in given) {
    problems.at([...path, 'alpha'], 'alpha is a dynamic threshold and xoff a static one; give one of them')
  } else if (!('xoff' in given || 'alpha' in given)) {
    problems.at(
      path,
      'xoff is missing: a size (500KB), or instead of it alpha, a share of the free memory (1)',
    )
  }
  if (xoff !== undefined) {
    const tooHigh = (name: string, bytes: number | undefined) => {
      if (bytes !== undefined && bytes >= xoff) problems.at([...path, name], `${name} must be below xoff`)
    }
    tooHigh('xon', xon)
    tooHigh('xonOffset', xonOffset)
    tooHigh('reserved', reserved)
    if (xoff >= bufferBytes) {
      const buffer = formatBytes(bufferBytes)
      problems.at([...path, 'xoff'], `xoff must lie below the buffer (${buffer}), or nothing is ever paused`)
    }
  }
  const byDefault = xon === undefined && xonOffset === undefined
  const xonBytes = byDefault && xoff !== undefined ? Math.floor(xoff * DEFAULT_XON_SHARE) : xon
  const xonOffsetBytes = byDefault && xoff === undefined ? DEFAULT_XON_OFFSET_BYTES : xonOffset
  return {
    priorities: sortedSet(shape.priorities ?? DEFAULT_PFC_PRIORITIES),
    ...(xoff !== undefined && { xoffBytes: xoff }),
    ...(alpha !== undefined && { alpha }),
    ...(xonBytes !== undefined && { xonBytes }),
    ...(xonOffsetBytes !== undefined && { xonOffsetBytes }),
    ...(reserved !== undefined && { reservedBytes: reserved }),
    ...(headroom !== undefined && { headroomBytes: headroom }),
    ...(quanta !== undefined && { quanta }),
    ...(watchdog && { watchdog }),
  }
}

/** A map of numbers below `size` to priorities. */
function resolveMap(
  problems: Problems,
  path: Path,
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

/** DWRR weights by priority, 0 for strict ones. */
function resolveScheduler(problems: Problems, path: Path, value: unknown): number[] | undefined {
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

function entriesOf(problems: Problems, path: Path, value: unknown, what: string): [string, unknown][] {
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
