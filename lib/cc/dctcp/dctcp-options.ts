/** Constants of DCTCP (RFC 8257). */
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'

const NAME = 'dctcp'

export const DCTCP_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'g',
    kind: 'number',
    min: 1e-6,
    max: 1,
    default: 1 / 16,
    doc: 'weight of a round trip in alpha (RFC 8257, section 3.3; its value: section 4.2)',
  },
  {
    name: 'increase',
    kind: 'number',
    min: 0.001,
    max: 1000,
    default: 1,
    doc: 'packets that congestion avoidance adds in a round trip (RFC 5681, section 3.1)',
  },
  {
    name: 'beta',
    kind: 'number',
    min: 0.1,
    max: 0.95,
    default: 0.5,
    doc: 'share of the window that remains after a loss (RFC 8257, section 3.5; RFC 5681, section 3.1)',
  },
  {
    name: 'initialWindow',
    kind: 'count',
    min: 1,
    max: 1000,
    default: null,
    doc: 'packets in flight when a flow begins; default: ten in flows that begin carefully (RFC 6928, section 2), else line rate x T',
  },
  {
    name: 'minWindow',
    kind: 'count',
    min: 1,
    max: 1000,
    default: 2,
    doc: 'smallest window after a mark or a loss, in packets (RFC 5681, section 3.1)',
  },
  {
    name: 'maxWindow',
    kind: 'bytes',
    min: 1,
    max: 2 ** 40,
    default: 2 ** 30,
    doc: 'the window grows no further; no less than minWindow and initialWindow (a bound of Weir)',
  },
]

export interface DctcpConstants {
  g: number
  increase: number
  beta: number
  /** NaN: as the flow begins. */
  initialPackets: number
  minPackets: number
  maxWindowBytes: number
}

/** Throws WEIR_BAD_ARGUMENT for a value out of range. */
export function dctcpConstants(options: OptionValues): DctcpConstants {
  const value = (name: string) => optionNumber(NAME, DCTCP_OPTIONS, options, name)
  return {
    g: value('g'),
    increase: value('increase'),
    beta: value('beta'),
    initialPackets: value('initialWindow'),
    minPackets: value('minWindow'),
    maxWindowBytes: value('maxWindow'),
  }
}
