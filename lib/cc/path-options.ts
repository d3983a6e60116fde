/**
 * Path selection and admission by telemetry, setting by setting: the one table that checks, scenario files, command lines and
 * their help follow. Source is the last section of draft-miao-rtgwg-hpccplus (draft-02), behind that on QoS queueing: the
 * end-host fetches telemetry along the routes of its traffic, and decides by it on path selection and traffic admission.
 */
import type { Nanos } from '../time/nanos.js'
import type { Idle } from './idle-setting.js'

/** Settings of path selection and admission; PATH_OPTIONS has their ranges and defaults. */
export interface PathSettings {
  count: number
  start: 'choose' | 'hash'
  move: 'never' | 'idle' | 'drain'
  margin: number
  intervalNs: Nanos
  /** 0: all flows are admitted. */
  admission: number
  admissionWaitNs: Nanos
  admissionQueue: number
}

export const PATHS_SOURCE = 'draft-02, path selection and traffic admission'

/** Paths of one connection, at most: the low bits of a probe's number say which. */
export const PATHS_MAX = 16

/** One of these settings. */
export type PathOption = {
  /** As users write it: without a unit, also for times. */
  name: string
  key: keyof PathSettings
  doc: string
  /** When it has no effect. A user who gives it on a command line gets an error that says so. */
  idle?: (settings: PathSettings) => Idle | null
} & (
  | { kind: 'choice'; choices: readonly string[]; default: string }
  /** A `duration` is in ns. */
  | { kind: 'count' | 'number' | 'duration'; min: number; max: number; default: number }
)

const onePath = ({ count }: PathSettings): Idle | null =>
  count === 1 ? { while: 'count is 1', mend: 'count to 2 or more' } : null

const admitsAll = ({ admission }: PathSettings): Idle | null =>
  admission === 0 ? { while: 'admission is 0', mend: 'admission above 0' } : null

export const PATH_OPTIONS: readonly PathOption[] = [
  {
    name: 'count',
    key: 'count',
    kind: 'count',
    min: 1,
    max: PATHS_MAX,
    default: 1,
    doc: 'UDP source ports whose paths a connection probes while it has something to send; 1: it keeps its own port',
  },
  {
    name: 'start',
    key: 'start',
    idle: settings =>
      onePath(settings) ??
      (admitsAll(settings) === null ? { while: 'admission is above 0', mend: 'admission to 0' } : null),
    kind: 'choice',
    choices: ['choose', 'hash'],
    default: 'choose',
    doc: 'a new flow probes for two to four T and takes the least used path (choose), or sends at once by its own port (hash)',
  },
  {
    name: 'move',
    key: 'move',
    idle: onePath,
    kind: 'choice',
    choices: ['never', 'idle', 'drain'],
    default: 'never',
    doc: 'when a running flow changes its path: never; when nothing is in flight (idle); or it stops sending until nothing is in flight (drain)',
  },
  {
    name: 'margin',
    key: 'margin',
    idle: settings =>
      onePath(settings) ??
      (settings.move === 'never' ? { while: 'move is never', mend: 'move to idle or drain' } : null),
    kind: 'number',
    min: 0,
    max: 1,
    default: 0.1,
    doc: 'a flow moves only if others use the new path this much less than its own',
  },
  {
    name: 'interval',
    key: 'intervalNs',
    // With a bound on admission the one path is probed as well.
    idle: settings => (admitsAll(settings) === null ? null : onePath(settings)),
    kind: 'duration',
    min: 0,
    max: 60e9,
    default: 0,
    doc: 'shortest time between two probes of one path; 0: 8 T. A flow that has not chosen yet probes once per T',
  },
  {
    name: 'admission',
    key: 'admission',
    kind: 'number',
    min: 0,
    max: 10,
    default: 0,
    doc: 'utilization from which a path takes no new flow, as in 0.9; 0: every flow is admitted',
  },
  {
    name: 'admissionWait',
    key: 'admissionWaitNs',
    idle: admitsAll,
    kind: 'duration',
    min: 0,
    max: 600e9,
    default: 0,
    doc: 'how long a flow waits for a path with room before it is refused; 0: it is refused at once',
  },
  {
    name: 'admissionQueue',
    key: 'admissionQueue',
    idle: settings =>
      admitsAll(settings) ??
      (settings.admissionWaitNs === 0
        ? { while: 'admissionWait is 0', mend: 'admissionWait above 0' }
        : null),
    kind: 'count',
    min: 1,
    max: 4096,
    default: 64,
    doc: 'flows of one host that may wait; further flows are refused',
  },
]

/** Range of a setting for people. */
export function pathRange(option: PathOption): string {
  if (option.kind === 'choice') return option.choices.join('|')
  return option.kind === 'duration' ? `0 to ${option.max / 1e9}s` : `${option.min} to ${option.max}`
}

/** For `--help`: a line each. */
export function describePaths(): string[] {
  return PATH_OPTIONS.map(
    option =>
      `${option.name}=${pathRange(option)}, default ${option.default}: ${option.doc} (${PATHS_SOURCE})`,
  )
}
