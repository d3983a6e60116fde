/** Constants of HPCC++, sender-based and receiver-based (draft-miao-rtgwg-hpccplus, section 4.1, figure 3, and 4.3). */
import { ByOptions, type OptionSpec, optionFlag, optionNumber } from '../options.js'

export interface HpccConstants {
  eta: number
  maxStage: number
  flows: number
  /** NaN: by the rule of thumb. */
  wAi: number
  /** NaN: a thousandth of the line rate. */
  minRate: number
  countFlows: boolean
}

/** @param countFlows what `countFlows` is when nothing is said */
export function hpccOptions(countFlows: boolean): readonly OptionSpec[] {
  return [
    {
      name: 'eta',
      kind: 'number',
      min: 0.1,
      max: 1,
      default: 0.95,
      doc: 'target utilization of the busiest link (section 4.1, figure 3)',
    },
    {
      name: 'maxStage',
      kind: 'count',
      min: 0,
      max: 1000,
      default: 5,
      doc: 'additive increases before a multiplicative one (section 4.1, figure 3)',
    },
    {
      name: 'flows',
      kind: 'count',
      min: 1,
      max: 65_535,
      default: 100,
      doc: 'flows that one link is expected to carry: N of the rule of thumb W_ai = W_init (1 - eta) / N (section 4.3)',
      idle: [{ while: { wAi: { given: true } } }],
    },
    {
      name: 'wAi',
      kind: 'bytes',
      min: 0,
      max: 1 << 30,
      default: null,
      doc: 'W_ai, the additive increase (section 4.3); default: by the rule of thumb',
    },
    {
      name: 'minRate',
      kind: 'rate',
      min: 1,
      max: 1e12,
      default: null,
      doc: 'lowest rate, and times T the lowest window; default: a thousandth of the line rate',
    },
    {
      name: 'countFlows',
      kind: 'flag',
      default: countFlows,
      doc: 'the receiver counts the flows N while the last hop is the busiest (section on Rx-HPCC)',
      idle: [{ while: { wAi: { given: true } } }],
    },
  ]
}

/** The constants that options give. */
export const HPCC_CONSTANTS = new ByOptions<HpccConstants>((controller, specs, options) => {
  const value = (name: string) => optionNumber(controller, specs, options, name)
  return {
    eta: value('eta'),
    maxStage: value('maxStage'),
    flows: value('flows'),
    wAi: value('wAi'),
    minRate: value('minRate'),
    countFlows: optionFlag(controller, specs, options, 'countFlows'),
  }
})
