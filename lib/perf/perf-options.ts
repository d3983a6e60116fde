/** What a measurement may ask for: ranges and meaning, for checks at both ends, command lines and their help. */
import type { CommandOption } from '../options/option.js'
import { PATH_MTUS } from '../qp/transport-options.js'
import { SECOND } from '../time/nanos.js'

/** A day. */
const LONGEST_NS = 24 * 3600 * SECOND

const BESIDE_COUNT = [{ while: { iterations: { given: true } } }] as const

export const OP = {
  name: 'op',
  kind: 'choice',
  choices: ['write', 'send', 'read'],
  doc: 'operation',
  command: { flag: '--op <operation>' },
} as const satisfies CommandOption

export const SIZE = {
  name: 'size',
  kind: 'bytes',
  min: 1,
  max: 64 << 20,
  doc: 'bytes of a message',
  idle: [{ while: { all: true }, why: '--all measures all sizes', mend: 'no --all' }],
  command: { flag: '--size <bytes>' },
} as const satisfies CommandOption

export const DURATION = {
  name: 'duration',
  kind: 'time',
  min: 1,
  max: LONGEST_NS,
  doc: 'how long to measure',
  idle: BESIDE_COUNT,
  command: { flag: '--duration <time>', usual: '5s, or 1s a size with --all' },
} as const satisfies CommandOption

export const ITERATIONS = {
  name: 'iterations',
  kind: 'count',
  min: 1,
  max: 1e12,
  doc: 'measure exactly so many messages per queue pair instead',
  command: { flag: '--iters <count>', usual: 'none' },
} as const satisfies CommandOption

export const WARMUP = {
  name: 'warmup',
  kind: 'time',
  min: 0,
  max: LONGEST_NS,
  doc: 'send this long before measuring',
  idle: BESIDE_COUNT,
  command: { flag: '--warmup <time>', usual: '200ms' },
} as const satisfies CommandOption

export const PATH_MTU = {
  name: 'pathMtu',
  kind: 'choice',
  choices: PATH_MTUS,
  doc: 'payload of a packet',
  command: {
    flag: '--mtu <bytes>',
    usual: "the daemon's; with --perftest and without -R, the longest that fits",
  },
} as const satisfies CommandOption

export const QPS = {
  name: 'qps',
  kind: 'count',
  min: 1,
  max: 1000,
  default: 1,
  doc: 'queue pairs',
  command: { flag: '--qps <count>' },
} as const satisfies CommandOption

export const DEPTH = {
  name: 'depth',
  kind: 'count',
  min: 1,
  max: 65_536,
  default: 128,
  doc: 'messages in flight on each queue pair, as far as there is room',
  command: { flag: '--depth <count>' },
} as const satisfies CommandOption
