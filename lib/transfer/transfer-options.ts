/** Settings of transfers: ranges and meaning, for checks, command lines and their help. */
import type { CommandOption } from '../options/option.js'
import { CHUNK_BYTES_MIN } from './protocol/chunk-plan.js'
import { STREAMS_MAX } from './protocol/messages.js'
import { RETRIES_MAX } from './task/retries.js'

/** The most is what a ring of 40 chunks, for long paths, has room for. */
export const CHUNK = {
  name: 'chunk',
  kind: 'bytes',
  min: CHUNK_BYTES_MIN,
  max: 1600 * 1024,
  default: 1 << 20,
  doc: 'unit of a transfer; each end holds 8 of them in memory, and more on long paths',
  command: { flag: '--chunk <bytes>' },
} as const satisfies CommandOption

export const DIGEST = {
  name: 'digest',
  kind: 'choice',
  choices: ['xxh64', 'sha256'],
  default: 'xxh64',
  doc: 'digest that both ends compare',
  command: { flag: '--digest <kind>' },
} as const satisfies CommandOption

export const RETRIES = {
  name: 'retries',
  kind: 'count',
  min: 0,
  max: RETRIES_MAX,
  default: 3,
  doc: 'consecutive attempts without progress after a lost connection; 0: none',
  command: { flag: '--retries <count>' },
} as const satisfies CommandOption

export const STREAMS = {
  name: 'streams',
  kind: 'count',
  min: 1,
  max: STREAMS_MAX,
  default: 1,
  doc: 'queue pairs that carry one file: each takes the next chunk as it becomes free, by a path of its own where there are several',
  command: { flag: '--streams <count>' },
} as const satisfies CommandOption

export const LINKS = {
  name: 'links',
  kind: 'choice',
  choices: ['refuse', 'skip'],
  default: 'refuse',
  doc: 'what to do with symbolic links that lead out of the folder that moves; others arrive as links',
  command: { flag: '--links <what>' },
} as const satisfies CommandOption

export const EXCLUDE = {
  name: 'exclude',
  kind: 'text',
  doc: 'leave out what matches: a name at any depth, or with a slash a path in the folder that moves',
  command: { flag: '--exclude <glob>', several: true },
} as const satisfies CommandOption

export const INCLUDE = {
  name: 'include',
  kind: 'text',
  doc: 'take what matches although --exclude does; without --exclude: nothing else',
  command: { flag: '--include <glob>', several: true },
} as const satisfies CommandOption
