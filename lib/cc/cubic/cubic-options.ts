/** Constants of CUBIC (RFC 9438) and of what it works with: HyStart++ (RFC 9406), PRR (RFC 9937), ECN, pacing. */
import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import { type OptionBounds, WINDOW_BOUNDS } from '../bounds.js'
import { type OptionSpec, type OptionValues, optionFlag, optionNumber } from '../options.js'

const NAME = 'cubic'

export const CUBIC_OPTIONS: readonly OptionSpec[] = [
  number(
    'c',
    0.001,
    100,
    0.4,
    'C, how fast the cubic curve rises, in segments per second cubed (RFC 9438, section 5)',
  ),
  number('beta', 0.1, 0.95, 0.7, 'share of the window that remains after a loss (RFC 9438, section 4.6)'),
  number(
    'betaEcn',
    0.1,
    0.95,
    0.7,
    'the same after an ECN mark or a CNP; 0.85 backs off less, as queues that mark are short (RFC 8511, section 3)',
  ),
  {
    name: 'alpha',
    kind: 'number',
    min: 0.001,
    max: 10,
    default: null,
    doc: 'segments that Reno would add in a round trip; default: 3 (1 - beta) / (1 + beta) (RFC 9438, section 4.3)',
  },
  flag(
    'fastConvergence',
    true,
    'a flow whose window no longer reaches its last maximum releases more of it, for new flows (RFC 9438, section 4.7)',
  ),
  bytes(
    'segment',
    1,
    65535,
    1448,
    'segment in which the growth of the window counts where packets are smaller: that of TCP on Ethernet, so that flows share by the byte where the same share of packets is lost (RFC 4828, section 4.1)',
  ),
  count('initialWindow', 1, 1000, 10, 'packets in flight when a flow begins (RFC 6928, section 2)'),
  count('minWindow', 1, 1000, 2, 'smallest window after a loss, in packets (RFC 9438, section 4.6)'),
  bytes(
    'maxWindow',
    1,
    2 ** 40,
    2 ** 30,
    'the window grows no further; no less than minWindow and initialWindow (a bound of Weir)',
  ),
  flag(
    'hystart',
    true,
    'the first slow start ends when the round trip grows, before packets are lost (RFC 9406)',
  ),
  ofHystart(
    ns(
      'hystartRttLeast',
      0,
      1e9,
      4 * MILLISECOND,
      'MIN_RTT_THRESH: smallest growth of the round trip that ends it (RFC 9406, section 4.3)',
    ),
  ),
  ofHystart(
    ns(
      'hystartRttMost',
      0,
      1e9,
      16 * MILLISECOND,
      'MAX_RTT_THRESH: growth that ends it in any case (RFC 9406, section 4.3)',
    ),
  ),
  ofHystart(
    count(
      'hystartRttDivisor',
      1,
      1000,
      8,
      'MIN_RTT_DIVISOR: between these, the last round trip divided by this (RFC 9406, section 4.3)',
    ),
  ),
  ofHystart(
    count(
      'hystartSamples',
      1,
      1000,
      8,
      'N_RTT_SAMPLE: round trips measured before a round is judged (RFC 9406, section 4.3)',
    ),
  ),
  ofHystart(
    count(
      'cssGrowthDivisor',
      2,
      1000,
      4,
      'CSS_GROWTH_DIVISOR: conservative slow start grows so many times slower (RFC 9406, section 4.3)',
    ),
  ),
  ofHystart(
    count('cssRounds', 1, 1000, 5, 'CSS_ROUNDS: rounds of conservative slow start (RFC 9406, section 4.3)'),
  ),
  ofHystart(
    number(
      'firstGrowth',
      0,
      1,
      0.05,
      'share of itself by which the window grows in a round trip at least, from the end of the first slow start to the first loss, while the least of the last two round trips shows no queue (as Linux: tcp_cubic, which does not ask for that)',
    ),
  ),
  flag('prr', true, 'in recovery packets leave as others arrive, down to the new window (RFC 9937)'),
  number(
    'slowStartGain',
    1,
    100,
    2,
    'pace in slow start, as a multiple of window / round trip (as Linux: tcp_pacing_ss_ratio)',
  ),
  number('avoidanceGain', 1, 100, 1.25, 'pace at other times (RFC 9002, section 7.7)'),
  flag(
    'idleRestart',
    true,
    'a pause halves the window once for each timeout that it lasts, down to the initial window (RFC 2861, section 3.1)',
  ),
  ns(
    'timeoutLeast',
    0,
    60e9,
    200 * MILLISECOND,
    'smallest timeout for counting pauses (as Linux; RFC 6298, section 2.4, has 1 s)',
  ),
]

export const CUBIC_BOUNDS: readonly OptionBounds[] = [
  ...WINDOW_BOUNDS,
  { least: 'hystartRttLeast', most: 'hystartRttMost' },
]

/** A constant that only HyStart++ uses. */
function ofHystart(spec: OptionSpec): OptionSpec {
  return { ...spec, idle: [{ while: { hystart: false } }] }
}

export interface CubicConstants {
  c: number
  beta: number
  betaEcn: number
  alpha: number
  fastConvergence: boolean
  segmentBytes: number
  initialPackets: number
  minPackets: number
  maxWindowBytes: number
  hystart: boolean
  hystartRttLeastNs: Nanos
  hystartRttMostNs: Nanos
  hystartRttDivisor: number
  hystartSamples: number
  cssGrowthDivisor: number
  cssRounds: number
  firstGrowth: number
  prr: boolean
  slowStartGain: number
  avoidanceGain: number
  idleRestart: boolean
  timeoutLeastNs: Nanos
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. */
export function cubicConstants(options: OptionValues): CubicConstants {
  const value = (name: string) => optionNumber(NAME, CUBIC_OPTIONS, options, name)
  const isOn = (name: string) => optionFlag(NAME, CUBIC_OPTIONS, options, name)
  const beta = value('beta')
  const alpha = value('alpha')
  return {
    c: value('c'),
    beta,
    betaEcn: value('betaEcn'),
    alpha: Number.isNaN(alpha) ? (3 * (1 - beta)) / (1 + beta) : alpha,
    fastConvergence: isOn('fastConvergence'),
    segmentBytes: value('segment'),
    initialPackets: value('initialWindow'),
    minPackets: value('minWindow'),
    maxWindowBytes: value('maxWindow'),
    hystart: isOn('hystart'),
    hystartRttLeastNs: value('hystartRttLeast'),
    hystartRttMostNs: value('hystartRttMost'),
    hystartRttDivisor: value('hystartRttDivisor'),
    hystartSamples: value('hystartSamples'),
    cssGrowthDivisor: value('cssGrowthDivisor'),
    cssRounds: value('cssRounds'),
    firstGrowth: value('firstGrowth'),
    prr: isOn('prr'),
    slowStartGain: value('slowStartGain'),
    avoidanceGain: value('avoidanceGain'),
    idleRestart: isOn('idleRestart'),
    timeoutLeastNs: value('timeoutLeast'),
  }
}

function number(name: string, min: number, max: number, standard: number, doc: string): OptionSpec {
  return { name, kind: 'number', min, max, default: standard, doc }
}

function count(name: string, min: number, max: number, standard: number, doc: string): OptionSpec {
  return { name, kind: 'count', min, max, default: standard, doc }
}

function bytes(name: string, min: number, max: number, standard: number, doc: string): OptionSpec {
  return { name, kind: 'bytes', min, max, default: standard, doc }
}

function ns(name: string, min: Nanos, max: Nanos, standard: Nanos, doc: string): OptionSpec {
  return { name, kind: 'time', min, max, default: standard, doc }
}

function flag(name: string, standard: boolean, doc: string): OptionSpec {
  return { name, kind: 'flag', default: standard, doc }
}
