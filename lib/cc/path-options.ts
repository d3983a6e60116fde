/**
 * Path selection and admission by telemetry, setting by setting: the one table that checks, scenario files, command lines and
 * their help follow. Source is the last section of draft-miao-rtgwg-hpccplus (draft-02), behind that on QoS queueing: the
 * end-host fetches telemetry along the routes of its traffic, and decides by it on path selection and traffic admission.
 */
import type { IdleRule, SettingsOf, ValueOption } from '../options/option.js'

const PATHS_SOURCE = 'draft-02, path selection and traffic admission'

/** Paths of one connection, at most: the low bits of a probe's number say which. */
export const PATHS_MAX = 16

const ONE_PATH: IdleRule = { while: { count: 1 }, mend: 'count to 2 or more' }
const ALL_ADMITTED: IdleRule = { while: { admission: 0 }, mend: 'admission above 0' }

const TABLE = [
  {
    name: 'count',
    kind: 'count',
    min: 1,
    max: PATHS_MAX,
    default: 1,
    doc: 'UDP source ports whose paths a connection probes while it has something to send; 1: it keeps its own port',
    source: PATHS_SOURCE,
    example: 8,
  },
  {
    name: 'start',
    idle: [ONE_PATH, { while: { admission: { above: 0 } }, mend: 'admission to 0' }],
    kind: 'choice',
    choices: ['choose', 'hash'],
    default: 'choose',
    doc: 'a new flow probes for two to four T and takes the least used path (choose), or sends at once by its own port (hash)',
    source: PATHS_SOURCE,
    example: 'hash',
    with: { count: 8 },
  },
  {
    name: 'move',
    idle: [ONE_PATH],
    kind: 'choice',
    choices: ['never', 'idle', 'drain'],
    default: 'never',
    doc: 'when a running flow changes its path: never; when nothing is in flight (idle); or it stops sending until nothing is in flight (drain)',
    source: PATHS_SOURCE,
    example: 'drain',
    with: { count: 8 },
  },
  {
    name: 'margin',
    idle: [ONE_PATH, { while: { move: 'never' }, mend: 'move to idle or drain' }],
    kind: 'number',
    min: 0,
    max: 1,
    default: 0.1,
    doc: 'a flow moves only if others use the new path this much less than its own',
    source: PATHS_SOURCE,
    example: 0.2,
    with: { count: 8, move: 'drain' },
  },
  {
    name: 'interval',
    // With a bound on admission the one path is probed as well.
    idle: [{ while: { count: 1, admission: 0 }, why: 'count is 1', mend: 'count to 2 or more' }],
    kind: 'time',
    min: 0,
    max: 60e9,
    default: 0,
    doc: 'shortest time between two probes of one path; 0: 8 T. A flow that has not chosen yet probes once per T',
    source: PATHS_SOURCE,
    example: '1ms',
    with: { count: 8 },
  },
  {
    name: 'admission',
    kind: 'number',
    min: 0,
    max: 10,
    default: 0,
    doc: 'utilization from which a path takes no new flow, as in 0.9; 0: every flow is admitted',
    source: PATHS_SOURCE,
    example: 0.9,
  },
  {
    name: 'admissionWait',
    idle: [ALL_ADMITTED],
    kind: 'time',
    min: 0,
    max: 600e9,
    default: 0,
    doc: 'how long a flow waits for a path with room before it is refused; 0: it is refused at once',
    source: PATHS_SOURCE,
    example: '10ms',
    with: { admission: 0.9 },
  },
  {
    name: 'admissionQueue',
    idle: [ALL_ADMITTED, { while: { admissionWait: 0 }, mend: 'admissionWait above 0' }],
    kind: 'count',
    min: 1,
    max: 4096,
    default: 64,
    doc: 'flows of one host that may wait; further flows are refused',
    source: PATHS_SOURCE,
    example: 16,
    with: { admission: 0.9, admissionWait: '10ms' },
  },
] as const satisfies readonly ValueOption[]

/** Settings of path selection and admission. `admission` 0: all flows are admitted. */
export type PathSettings = SettingsOf<typeof TABLE>

export const PATH_OPTIONS: readonly ValueOption[] = TABLE
