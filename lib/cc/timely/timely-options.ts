/**
 * Constants of TIMELY (Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015; algorithm 1, sections
 * 4.2 to 4.4). The paper's values are for links of 10 Gbit/s with a round trip of 20 us; rates and times follow the link and the path.
 */
import type { Nanos } from '../../time/nanos.js'
import type { OptionBounds } from '../bounds.js'
import type { CongestionContext } from '../congestion-control.js'
import { type OptionSpec, type OptionValues, optionFlag, optionNumber } from '../options.js'
import { leastRateBps, rateGuardOptions } from '../rate-guard.js'

const NAME = 'timely'

const T_LOW_NS = 50_000
const T_HIGH_NS = 500_000
const MIN_RTT_NS = 20_000
/** The paper's thresholds in its round trips. */
const T_LOW_ROUND_TRIPS = 2.5
const T_HIGH_ROUND_TRIPS = 25
/** Those of the paper, and of its patch. */
const BETA = 0.8
const PATCHED_BETA = 0.008
/** 10 Mbit/s at 10 Gbit/s. */
const DELTA_SHARE = 1 / 1000

export const TIMELY_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'alpha',
    kind: 'number',
    min: 0.001,
    max: 1,
    default: 0.875,
    doc: 'weight of the newest difference of round trips in the gradient (algorithm 1; value of the HPCC simulator)',
  },
  {
    name: 'beta',
    kind: 'number',
    min: 0.001,
    max: 1,
    default: null,
    doc: 'multiplicative decrease: how much of the rate a gradient of 1 takes; default: 0.8 (section 4.3), and 0.008 where patched (Zhu et al., ECN or delay, CoNEXT 2016)',
  },
  {
    name: 'patched',
    kind: 'flag',
    default: null,
    doc: 'patched TIMELY: between tLow and tHigh the distance from tLow counts too, so that rates become equal; without HAI (Zhu et al., ECN or delay, CoNEXT 2016). By default in flows that begin carefully',
  },
  {
    name: 'tLow',
    kind: 'time',
    min: 1,
    max: 60e9,
    default: null,
    doc: 'below this round trip the rate rises, whatever the gradient; default: 50us, or 2.5 T where that is longer, and no more than tHigh (section 4.4)',
  },
  {
    name: 'tHigh',
    kind: 'time',
    min: 1,
    max: 60e9,
    default: null,
    doc: 'above this round trip the rate falls, whatever the gradient; default: 500us, or 25 T where that is longer, and no less than tLow (section 4.4)',
  },
  {
    name: 'minRtt',
    kind: 'time',
    min: 1,
    max: 60e9,
    default: null,
    doc: 'D_minRTT, by which the gradient is normalized (algorithm 1); default: 20us, or T where that is longer (section 4.4)',
  },
  {
    name: 'delta',
    kind: 'rate',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'additive increase; default: a thousandth of the line rate, which is the 10 Mbit/s of the paper at 10 Gbit/s (section 4.3)',
  },
  {
    name: 'hyperAfter',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 5,
    doc: 'hyperactive increase (HAI) begins with the event of this number in a row with a gradient of 0 or less (section 4.3)',
    idle: [{ while: { patched: true } }],
  },
  {
    name: 'hyperSteps',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 5,
    doc: 'N: deltas that HAI adds at a time (algorithm 1)',
    idle: [{ while: { patched: true } }],
  },
  {
    name: 'segment',
    kind: 'bytes',
    min: 0,
    max: 2 ** 24,
    default: 16_384,
    doc: 'the rate changes when so many bytes have been acknowledged: a segment, 16 to 64 KB in the paper (section 3), and minRtt has passed; 0 = with each acknowledgement',
    idle: [{ while: { perRoundTrip: true } }],
  },
  {
    name: 'perRoundTrip',
    kind: 'flag',
    default: false,
    doc: 'the rate changes once in a round trip instead, as in the HPCC simulator',
  },
  {
    name: 'hyperBelowLow',
    kind: 'flag',
    default: false,
    doc: 'HAI also counts and acts below tLow, as in the HPCC simulator',
    idle: [{ while: { patched: true } }],
  },
  {
    name: 'minRate',
    kind: 'rate',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'lowest rate; default: a thousandth of the line rate, or a packet each 100 ms where that is more (a bound of Weir)',
  },
  ...rateGuardOptions('tLow'),
]

export const TIMELY_BOUNDS: readonly OptionBounds[] = [{ least: 'tLow', most: 'tHigh' }]

/** Those that do not follow T. */
export interface TimelyConstants {
  alpha: number
  beta: number
  patched: boolean
  deltaBps: number
  hyperAfter: number
  hyperSteps: number
  segmentBytes: number
  perRoundTrip: boolean
  hyperBelowLow: boolean
  minBps: number
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. */
export function timelyConstants(context: CongestionContext, options: OptionValues): TimelyConstants {
  const value = (name: string) => optionNumber(NAME, TIMELY_OPTIONS, options, name)
  const deltaBps = known(value('delta'), context.lineRateBps * DELTA_SHARE)
  const patched =
    options.patched === undefined
      ? context.careful === true
      : optionFlag(NAME, TIMELY_OPTIONS, options, 'patched')
  return {
    alpha: value('alpha'),
    beta: known(value('beta'), patched ? PATCHED_BETA : BETA),
    patched,
    deltaBps,
    hyperAfter: value('hyperAfter'),
    hyperSteps: value('hyperSteps'),
    segmentBytes: value('segment'),
    perRoundTrip: optionFlag(NAME, TIMELY_OPTIONS, options, 'perRoundTrip'),
    hyperBelowLow: optionFlag(NAME, TIMELY_OPTIONS, options, 'hyperBelowLow'),
    minBps: leastRateBps(context, value('minRate'), DELTA_SHARE),
  }
}

/** Tlow, Thigh and D_minRTT. */
export interface TimelyTimes {
  lowNs: Nanos
  highNs: Nanos
  minRttNs: Nanos
}

/** @param baseRttNs T */
export function timelyTimes(baseRttNs: Nanos, options: OptionValues): TimelyTimes {
  const value = (name: string) => optionNumber(NAME, TIMELY_OPTIONS, options, name)
  const [toldLow, toldHigh] = [value('tLow'), value('tHigh')]
  const usualLow = Math.max(T_LOW_NS, T_LOW_ROUND_TRIPS * baseRttNs)
  const usualHigh = Math.max(T_HIGH_NS, T_HIGH_ROUND_TRIPS * baseRttNs)
  return {
    lowNs: known(toldLow, Math.min(usualLow, known(toldHigh, usualHigh))),
    highNs: known(toldHigh, Math.max(usualHigh, known(toldLow, usualLow))),
    minRttNs: known(value('minRtt'), Math.max(MIN_RTT_NS, baseRttNs)),
  }
}

function known(value: number, otherwise: number): number {
  return Number.isNaN(value) ? otherwise : value
}
