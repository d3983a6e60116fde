/**
 * Path selection and admission by telemetry (draft-miao-rtgwg-hpccplus, the last section of draft-02, after that on QoS
 * queueing: the end-host fetches telemetry along the traffic's routes, and decides on path and admission by it). Names and
 * defaults of `paths` in scenario files and of `--paths`.
 */
import { WeirError } from '../errors.js'
import type { Nanos } from '../time/nanos.js'
import { parseDuration } from '../units/units.js'

export interface PathSettings {
  /**
   * UDP source ports that a connection probes, 1 to 16: its entropies, by which networks choose paths. 1 (default): its own
   * alone, and that stays.
   */
  count: number
  /** From one probe of a path to the next, at least, 0 to 60 s. 0 (default): 8 T. A flow that has still to choose probes once per T. */
  intervalNs: Nanos
  /**
   * What path a new flow takes: `choose` (default): the least used; it sends nothing for the two to four T that this takes.
   * `hash`: that of its own source port, at once.
   */
  start: 'choose' | 'hash'
  /**
   * Whether a flow that runs takes another path: `never` (default); `idle`: when it has nothing in flight; `drain`: it also
   * stops sending until that is so.
   */
  move: 'never' | 'idle' | 'drain'
  /** By so much of a link less must the other path be used by others than the flow's own, 0 to 1. Default 0.1. */
  margin: number
  /** Measured utilization from which a path takes no new flow, 0.01 to 10; 0 (default): all flows are admitted. */
  admission: number
  /** How long a flow waits to be admitted, 0 to 600 s; 0 (default): it is refused at once. */
  admissionWaitNs: Nanos
  /** Flows of one host that may wait, 1 to 4096. Default 64. */
  admissionQueue: number
}

export const STARTS = ['choose', 'hash'] as const
export const MOVES = ['never', 'idle', 'drain'] as const
/** Also of a sequence number: its low bits say which path. */
export const PATHS_MAX = 16

/** Least and most of settings that are numbers. */
export const PATH_RANGES = {
  count: [1, PATHS_MAX],
  intervalNs: [0, 60e9],
  margin: [0, 1],
  admission: [0, 10],
  admissionWaitNs: [0, 600e9],
  admissionQueue: [1, 4096],
} as const

export const DEFAULT_PATHS: Readonly<PathSettings> = {
  count: 1,
  intervalNs: 0,
  start: 'choose',
  move: 'never',
  margin: 0.1,
  admission: 0,
  admissionWaitNs: 0,
  admissionQueue: 64,
}

/** An admission bound below this refuses every flow for the probes alone. */
export const ADMISSION_MIN = 0.01

/** Names of the settings as users give them: times without their unit. */
const NAMES: Readonly<Record<string, keyof PathSettings>> = {
  count: 'count',
  interval: 'intervalNs',
  start: 'start',
  move: 'move',
  margin: 'margin',
  admission: 'admission',
  admissionWait: 'admissionWaitNs',
  admissionQueue: 'admissionQueue',
}

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function pathSettings(given: Partial<PathSettings> = {}): PathSettings {
  const settings = { ...DEFAULT_PATHS, ...given }
  if (!STARTS.includes(settings.start)) throw bad('start', `one of ${STARTS.join(', ')}`, settings.start)
  if (!MOVES.includes(settings.move)) throw bad('move', `one of ${MOVES.join(', ')}`, settings.move)
  for (const [name, [least, most]] of Object.entries(PATH_RANGES)) {
    const value = settings[name as keyof typeof PATH_RANGES]
    if (!(value >= least && value <= most)) throw bad(name, `${least} to ${most}`, value)
  }
  for (const name of ['count', 'admissionQueue'] as const) {
    if (!Number.isInteger(settings[name])) throw bad(name, 'a whole number', settings[name])
  }
  if (settings.admission !== 0 && settings.admission < ADMISSION_MIN) {
    throw bad('admission', `0, or ${ADMISSION_MIN} to ${PATH_RANGES.admission[1]}`, settings.admission)
  }
  return settings
}

/** True if connections have anything to probe for. */
export function probesPaths({ count, admission }: PathSettings): boolean {
  return count > 1 || admission > 0
}

/** Settings by text: `count=4`, `interval=1ms`. Throws WEIR_BAD_ARGUMENT. */
export function parsePathSettings(texts: readonly string[]): Partial<PathSettings> {
  const found: Record<string, unknown> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    const setting = NAMES[name]
    if (setting === undefined) {
      const names = Object.keys(NAMES).join(', ')
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `paths: there is no setting ${name || text}; there are ${names}`,
      )
    }
    if (setting === 'move' || setting === 'start') found[setting] = value
    else if (setting.endsWith('Ns')) found[setting] = parseDuration(value)
    else found[setting] = Number(value === '' ? Number.NaN : value)
  }
  pathSettings(found as Partial<PathSettings>)
  return found as Partial<PathSettings>
}

/** Settings as texts that `parsePathSettings` reads. */
export function pathSettingTexts(settings: PathSettings): string[] {
  return Object.entries(NAMES).map(([name, setting]) => {
    const unit = setting.endsWith('Ns') ? 'ns' : ''
    return `${name}=${settings[setting]}${unit}`
  })
}

function bad(name: string, range: string, value: unknown): WeirError {
  const given = name.replace(/Ns$/, '')
  return new WeirError('WEIR_BAD_ARGUMENT', `paths: ${given} is ${range}, not ${value}`)
}
