/**
 * Constants of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015), with the paper's defaults where it
 * has one. Names in brackets are those of the paper. Times are ns, rates bit/s.
 */
import { MICROSECOND, type Nanos } from '../../time/nanos.js'
import type { CongestionContext } from '../congestion-control.js'
import { lossOptions } from '../loss-cap.js'
import { type OptionSpec, type OptionValues, optionFlag, optionNumber } from '../options.js'

const NAME = 'dcqcn'

export const CNP_INTERVAL_DEFAULT_NS: Nanos = 50 * MICROSECOND

export const DCQCN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'cnpInterval',
    kind: 'time',
    min: 1 * MICROSECOND,
    max: 1e9,
    default: CNP_INTERVAL_DEFAULT_NS,
    doc: 'N: a Weir peer sends at most one CNP for the flow in so much time (section 3.1, NP algorithm); others have an interval of their own',
  },
  {
    name: 'g',
    kind: 'number',
    min: 1e-6,
    max: 1,
    default: 1 / 256,
    doc: 'weight of a CNP, and of its absence, in alpha (section 3.1, equations 1 and 2)',
  },
  time('alphaTimer', 55, 'K: without a CNP for so long alpha decays (section 3.1, equation 2)'),
  {
    name: 'cutInterval',
    kind: 'time',
    min: 0,
    max: 1e9,
    default: 0,
    doc: 'how often the sender looks whether CNPs have come and cuts its rate, once for all of them; alpha then grows or decays once in alphaTimer, as in NICs (rate_reduce_monitor_period). 0: each CNP cuts and adds to alpha at once, as in the paper',
  },
  {
    name: 'clampTarget',
    kind: 'flag',
    default: true,
    doc: 'each cut makes the current rate the target (section 3.1, equation 1); otherwise only the first one since the rate has risen (rpg_clamp_tgt_rate of NICs)',
  },
  {
    name: 'fastRecovery',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 5,
    doc: 'F: steps of fast recovery, and of additive increase before hyper increase (section 3.1)',
  },
  time('timer', 55, 'T: the rate rises once in so much time (section 5.2)'),
  {
    name: 'byteCounter',
    kind: 'bytes',
    min: 0,
    max: 2 ** 40,
    default: 10e6,
    doc: 'B: the rate also rises each time so much has been sent (section 5.2); 0: by the timer alone',
  },
  rate(
    'rAi',
    null,
    "R_AI: step of the target in additive increase; default: a thousandth of the line rate, which is the paper's 40 Mbps of 40 Gbps (section 5.2)",
  ),
  rate(
    'rHai',
    null,
    'R_HAI: step of the target in hyper increase, which the paper takes from QCN; default: five times as much as R_AI by default, as its authors simulate it',
  ),
  rate('minRate', 1e6, 'lowest rate; the paper has none, NICs have 1 Mbps (rpg_min_rate)'),
  {
    name: 'withWindow',
    kind: 'flag',
    default: null,
    doc: 'rate x T bounds the bytes in flight; by default in flows that begin carefully; the paper has none',
  },
  {
    name: 'perRoundTrip',
    kind: 'flag',
    default: null,
    doc: 'the rate is cut at most once in a round trip, and raised by the timer no more often: for paths whose round trip is longer than the times here; by default in flows that begin carefully; not in the paper',
  },
  ...lossOptions(true).map(
    spec =>
      (spec.name === 'lossReaction'
        ? { ...spec, doc: 'losses and timeouts bound the window; the networks of the paper lose nothing' }
        : spec) as OptionSpec,
  ),
]

export interface DcqcnConstants {
  g: number
  alphaTimerNs: Nanos
  cutIntervalNs: Nanos
  clampTarget: boolean
  fastRecovery: number
  timerNs: Nanos
  byteCounterBytes: number
  rAiBps: number
  rHaiBps: number
  minRateBps: number
  withWindow: boolean
  perRoundTrip: boolean
}

/** Shares of the line rate: the paper's R_AI, and its authors' R_HAI, of their 40 Gbit/s. */
const R_AI_SHARE = 40e6 / 40e9
const R_HAI_SHARE = 200e6 / 40e9

/** Throws WEIR_BAD_ARGUMENT for a value out of range. The context says what some options are unless they are given. */
export function dcqcnConstants(
  options: OptionValues,
  { lineRateBps, careful = false }: CongestionContext,
): DcqcnConstants {
  const value = (name: string) => optionNumber(NAME, DCQCN_OPTIONS, options, name)
  const shareOr = (name: string, share: number) =>
    options[name] === undefined ? share * lineRateBps : value(name)
  const flag = (name: string) => optionFlag(NAME, DCQCN_OPTIONS, options, name)
  const asItBegins = (name: string) => (options[name] === undefined ? careful : flag(name))
  return {
    g: value('g'),
    alphaTimerNs: value('alphaTimer'),
    cutIntervalNs: value('cutInterval'),
    clampTarget: flag('clampTarget'),
    fastRecovery: value('fastRecovery'),
    timerNs: value('timer'),
    byteCounterBytes: value('byteCounter'),
    rAiBps: shareOr('rAi', R_AI_SHARE),
    rHaiBps: shareOr('rHai', R_HAI_SHARE),
    minRateBps: value('minRate'),
    withWindow: asItBegins('withWindow'),
    perRoundTrip: asItBegins('perRoundTrip'),
  }
}

/** N of these options. */
export function cnpIntervalNs(options: OptionValues): Nanos {
  return optionNumber(NAME, DCQCN_OPTIONS, options, 'cnpInterval')
}

function time(name: string, us: number, doc: string): OptionSpec {
  return { name, kind: 'time', min: 1 * MICROSECOND, max: 1e9, default: us * MICROSECOND, doc }
}

function rate(name: string, standard: number | null, doc: string): OptionSpec {
  return { name, kind: 'rate', min: 1, max: 1e12, default: standard, doc }
}
