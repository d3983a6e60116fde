/**
 * Constants of Swift (Kumar et al., Swift: Delay is simple and effective for congestion control in the datacenter, SIGCOMM 2020). The
 * paper gives the formulas and leaves most values to whoever runs the network: `doc` says which ones are Weir's. Windows are packets.
 */
import type { Nanos } from '../../time/nanos.js'
import type { OptionBounds } from '../bounds.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'

const NAME = 'swift'

const BASE_TARGET_NS = 25_000
/** Where the path itself takes longer, the target leaves half of T for queues. */
const BASE_TARGET_ROUND_TRIPS = 1.5
/** A host that takes as long as a long path is the bottleneck. One that only has to wake for its packets is none. */
const END_TARGET_NS = 100_000
/** fs_range, in base targets. */
const RANGE_BASE_TARGETS = 5

export const SWIFT_OPTIONS: readonly OptionSpec[] = [
  number('ai', 0.001, 1000, 1, 'additive increase, in packets a round trip (algorithm 1; value of Weir)'),
  number('beta', 0.01, 1, 0.8, 'multiplicative decrease constant (algorithm 1; value of Weir)'),
  number(
    'maxMdf',
    0.01,
    0.99,
    0.5,
    'max_mdf, the largest share of the window that one decrease takes (algorithm 1; value of Weir)',
  ),
  time(
    'baseTarget',
    1,
    60e9,
    null,
    'base target delay of the network: what a path of one hop may take with few flows; default: 25us, or 1.5 T where that is longer (section 3.5; values of Weir)',
  ),
  time('hopScale', 0, 1e9, 1000, 'h, by which each hop raises the target (section 3.5; value of Weir)'),
  time(
    'fsRange',
    0,
    60e9,
    null,
    'fs_range, by which small windows raise the target at most; 0 = not at all; default: 5 base targets (section 3.5; value of Weir)',
  ),
  scaling(
    number(
      'fsMinCwnd',
      0.0001,
      1,
      0.1,
      'fs_min_cwnd, the window in packets at which the target is raised most (section 3.5; value of Weir)',
    ),
  ),
  scaling(
    number(
      'fsMaxCwnd',
      1.1,
      1e6,
      100,
      'fs_max_cwnd, the window in packets from which on it is not raised (section 3.5; value of Weir)',
    ),
  ),
  time(
    'endTarget',
    1,
    60e9,
    null,
    'target delay of the receiving host, for the window of the end host; default: 100us, or T where that is longer (section 3.4; values of Weir)',
  ),
  number(
    'endWeight',
    0.001,
    1,
    0.125,
    'weight of the newest delay of the receiving host in its average (section 3.4: EWMA; value of Weir)',
  ),
  {
    name: 'resetAfter',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 5,
    doc: 'RETX_RESET_THRESHOLD: timeouts in a row after which the window is the smallest (algorithm 1; value of Weir)',
  },
  number('minCwnd', 0.0001, 1000, 0.001, 'min_cwnd, the smallest window, in packets (algorithm 1)'),
  {
    name: 'maxWindow',
    kind: 'bytes',
    min: 1,
    max: 2 ** 40,
    default: 2 ** 30,
    doc: 'max_cwnd, the largest window, no less than minCwnd (algorithm 1; value of Weir)',
  },
]

export const SWIFT_BOUNDS: readonly OptionBounds[] = [
  { least: 'minCwnd', most: 'maxWindow', inPackets: true },
]

/** A constant of the scaling by flows. */
function scaling(spec: OptionSpec): OptionSpec {
  return { ...spec, idle: [{ while: { fsRange: 0 }, mend: 'fsRange above 0' }] }
}

function number(name: string, min: number, max: number, standard: number, doc: string): OptionSpec {
  return { name, kind: 'number', min, max, default: standard, doc }
}

function time(name: string, min: number, max: number, standard: number | null, doc: string): OptionSpec {
  return { name, kind: 'time', min, max, default: standard, doc }
}

export interface SwiftConstants {
  ai: number
  beta: number
  maxMdf: number
  endWeight: number
  resetAfter: number
  minPackets: number
  maxWindowBytes: number
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. */
export function swiftConstants(options: OptionValues): SwiftConstants {
  const value = (name: string) => optionNumber(NAME, SWIFT_OPTIONS, options, name)
  return {
    ai: value('ai'),
    beta: value('beta'),
    maxMdf: value('maxMdf'),
    endWeight: value('endWeight'),
    resetAfter: value('resetAfter'),
    minPackets: value('minCwnd'),
    maxWindowBytes: value('maxWindow'),
  }
}

/** What the target delay of the network is made of, and the other target. */
export interface SwiftTarget {
  baseNs: Nanos
  hopNs: Nanos
  rangeNs: Nanos
  minPackets: number
  maxPackets: number
  /** That of the receiving host. */
  endNs: Nanos
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. @param baseRttNs T */
export function swiftTarget(baseRttNs: Nanos, options: OptionValues): SwiftTarget {
  const value = (name: string) => optionNumber(NAME, SWIFT_OPTIONS, options, name)
  const known = (name: string, otherwise: number) => {
    const told = value(name)
    return Number.isNaN(told) ? otherwise : told
  }
  const baseNs = known('baseTarget', Math.max(BASE_TARGET_NS, BASE_TARGET_ROUND_TRIPS * baseRttNs))
  const minPackets = value('fsMinCwnd')
  const maxPackets = value('fsMaxCwnd')
  return {
    baseNs,
    hopNs: value('hopScale'),
    rangeNs: known('fsRange', RANGE_BASE_TARGETS * baseNs),
    minPackets,
    maxPackets,
    endNs: known('endTarget', Math.max(END_TARGET_NS, baseRttNs)),
  }
}
