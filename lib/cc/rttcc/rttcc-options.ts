/**
 * Constants of RTTCC, the round-trip time congestion control of Zero Touch RoCE. What is published says how congestion is found (probes
 * that the peer's NIC returns at once) and what follows (the flow is limited); the formula and all values here are Weir's.
 */
import type { Nanos } from '../../time/nanos.js'
import type { CongestionContext } from '../congestion-control.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'
import { leastRateBps, rateGuardOptions } from '../rate-guard.js'

const NAME = 'rttcc'

const QUEUE_ROUND_TRIPS = 0.5
const STEP_ROUND_TRIPS = 0.5
/** The lowest rate, as a share of the line rate. */
const LEAST_SHARE = 1 / 10_000

export const RTTCC_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'queue',
    kind: 'time',
    min: 0,
    max: 60e9,
    default: null,
    doc: 'delay in queues that a flow at line rate aims at; default: half of T (a choice of Weir)',
  },
  {
    name: 'step',
    kind: 'time',
    min: 0,
    max: 60e9,
    default: null,
    doc: 'by how much longer a delay a flow of half the rate aims at, so that rates become equal; default: half of T (a choice of Weir)',
  },
  {
    name: 'gain',
    kind: 'number',
    min: 0.001,
    max: 1,
    default: 0.05,
    doc: 'share by which the rate changes where the delay misses its target by T (a choice of Weir)',
  },
  {
    name: 'damping',
    kind: 'number',
    min: 0,
    max: 1,
    default: 0.3,
    doc: 'share by which it changes where the delay has changed by T since the last probe (a choice of Weir)',
  },
  {
    name: 'maxChange',
    kind: 'number',
    min: 0.01,
    max: 0.9,
    default: 0.5,
    doc: 'largest share of the rate that one probe takes or adds (a choice of Weir)',
  },
  {
    name: 'minRate',
    kind: 'rate',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'lowest rate; default: a ten-thousandth of the line rate, or a packet each 100 ms where that is more (a choice of Weir)',
  },
  ...rateGuardOptions('target'),
]

export interface RttccConstants {
  gain: number
  damping: number
  maxChange: number
  minBps: number
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. */
export function rttccConstants(context: CongestionContext, options: OptionValues): RttccConstants {
  const value = (name: string) => optionNumber(NAME, RTTCC_OPTIONS, options, name)
  return {
    gain: value('gain'),
    damping: value('damping'),
    maxChange: value('maxChange'),
    minBps: leastRateBps(context, value('minRate'), LEAST_SHARE),
  }
}

/** What the delay in queues is to be, at line rate and for each halving of the rate. */
export interface RttccTarget {
  queueNs: Nanos
  stepNs: Nanos
}

/** @param baseRttNs T */
export function rttccTarget(baseRttNs: Nanos, options: OptionValues): RttccTarget {
  const value = (name: string) => optionNumber(NAME, RTTCC_OPTIONS, options, name)
  const queueNs = value('queue')
  const stepNs = value('step')
  return {
    queueNs: Number.isNaN(queueNs) ? QUEUE_ROUND_TRIPS * baseRttNs : queueNs,
    stepNs: Number.isNaN(stepNs) ? STEP_ROUND_TRIPS * baseRttNs : stepNs,
  }
}
