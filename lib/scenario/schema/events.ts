/** `events` of a scenario file: one mapping for each kind. The key that names what changes decides about the kind. */
import * as z from 'zod'
import { readValue, show } from '../../options/read-value.js'
import { LINK_OPTIONS } from '../../sim/link-options.js'
import { DURATION_PATTERN } from '../../units/units.js'
import { NAMES_PATTERN } from '../model/names.js'
import type { Spacing } from '../model/scenario.js'
import * as f from './fields.js'
import { key, mapping, requiredKey, requiredPart } from './keys.js'
import { portSchema } from './network.js'
import { optionKeys } from './option-keys.js'
import { aboveZero, field } from './value-field.js'

/** A time above 0, or `exp` and the mean of random ones. */
const spacing = field(
  'time above 0, or `exp` and the mean of exponentially distributed times (`exp 10ms`)',
  { type: 'string', pattern: `^(?:\\s*exp\\s)?${aboveZero(DURATION_PATTERN).slice(1)}` },
  (value): Spacing => {
    const text = typeof value === 'string' ? value.trim() : ''
    const random = /^exp\s/.test(text)
    if (text === 'exp') throw new Error(`${show(value)} has no mean; write exp 10ms`)
    const ns = readValue({ kind: 'time', min: 1, max: MEAN_MOST_NS }, random ? text.slice(3).trim() : value)
    return { ns: ns as number, random }
  },
)
/** A drawn time stays a whole number that is exact. */
const MEAN_MOST_NS = 1e13

const DOWN = { down: true }

/** The keys that say when. `with`: what the examples need. */
function times(others?: Readonly<Record<string, unknown>>) {
  return {
    every: key(spacing, {
      description:
        'It happens again and again: at fixed times from `at` on, or (`exp 10ms`) after random times, each from the end of one to the beginning of the next, the first from `at`. They depend on the seed.',
      usual: 'once',
      example: '100ms',
      ...(others && { with: others }),
    }),
    repeat: key(f.whole(1, 1_000_000_000), {
      description: 'How often in all. It needs `every`.',
      usual: 'to the end of the run',
      example: 5,
      with: { ...others, every: '100ms' },
    }),
  }
}

const firstTime = (others: Readonly<Record<string, unknown>>) =>
  key(f.duration, {
    description:
      'When, from the start of the traffic. `weir lab up` counts from the time at which the lab is up.',
    default: 0,
    example: '2ms',
    with: others,
  })

export const pfcOnSchema = mapping(
  {
    title: 'an event with pfcOn',
    about: 'An operator restores PFC.',
  },
  {
    at: requiredKey(f.duration, { description: 'When, from the start of the traffic.', example: '2s' }),
    pfcOn: requiredPart(portSchema, {
      description:
        'Restores PFC of this port (`s1:s2`, `s1:s2#1`, `s1:0`) where the limit of the watchdog has turned it off by then; without effect elsewhere.',
      example: 's1:s2',
    }),
    priority: key(f.whole(0, 7), {
      description: 'Of this priority.',
      usual: 'of all lossless priorities',
      example: 3,
    }),
    ...times(),
  },
)

const LINKS_PATTERN = `^${NAMES_PATTERN}(?:--|:)${NAMES_PATTERN}(?:#[0-9]+)?$`

export const linkEventSchema = mapping(
  {
    title: 'an event with link',
    about:
      'A link goes down, loses or damages frames, or changes its delay or rate. What is not named stays. See [faults](faults.md).',
  },
  {
    link: requiredKey(
      f.written('link (`s1--s2`, `s1--s2#1`), direction (`s1:s2`), or a range', LINKS_PATTERN),
      {
        description:
          'The link, both ways: `s1--s2`, all parallel links of it, or `s1--s2#1`, one of them. `s1:s2` is the direction from s1 to s2. `h1..h4--s1` are four links.',
        example: 's1--s2',
        with: DOWN,
      },
    ),
    at: firstTime(DOWN),
    // A link that goes down again and again comes up between.
    ...times({ ...DOWN, for: '1ms' }),
    for: key(spacing, {
      description:
        'How long it lasts; then the link is as before. `exp 1ms`: a random time. With a fixed `every` a fixed time is shorter than that.',
      usual: 'to the end of the run',
      example: '1ms',
      with: DOWN,
    }),
    reset: key(f.yesNo, {
      description: 'First the link becomes as `links` say, whatever other events have set.',
      default: false,
      example: true,
      with: DOWN,
    }),
    ...optionKeys(LINK_OPTIONS),
  },
)

const STARTUP = '20ms'

export const restartSchema = mapping(
  {
    title: 'an event with restart',
    about:
      'A switch restarts. What waits in it is dropped, its links are down, and it comes up with nothing but its configuration. See [faults](faults.md#a-switch-that-restarts).',
  },
  {
    restart: requiredKey(f.names, {
      description: 'The switch, or a range of switches.',
      example: 's1',
    }),
    for: requiredKey(spacing, {
      description: 'How long it takes until the switch forwards again. `exp 20ms`: a random time.',
      example: STARTUP,
    }),
    at: firstTime({}),
    ...times(),
  },
)

/** Any event. */
export const eventSchema = z.union([pfcOnSchema, linkEventSchema, restartSchema])
