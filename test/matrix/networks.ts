/** The small networks of the matrix. Each provokes what some options are for. */
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MICROSECOND, MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import type { FeatureOptions } from '../../switch-emu/core/catalogue.js'
import type { PortOptions } from '../../switch-emu/core/queueing/egress-port.js'
import type { WorkPlan } from '../swarm/plan.js'

/** One connection and what it does. All go from h1 or h2 to h3. */
export interface FlowPlan {
  from: 'h1' | 'h2'
  startNs: Nanos
  work: readonly WorkPlan[]
  /** Work of h3. */
  answers?: readonly WorkPlan[]
  /** Time that h1 or h2 pauses after each message. Default: none. */
  pauseNs?: Nanos
  /** Receives that h3 keeps posted. Default 64. */
  receives?: number
}

export interface NetworkPlan {
  about: string
  /** Switches between the hosts: one after the other, or two leaves with two spines. */
  shape: 'chain' | 'spines'
  /** Rate of the links between switches; those of hosts have RATE_BPS. */
  trunkBps: number
  bufferBytes: number
  /** Loss and reordering on the link from h1, as shares of the packets. */
  loss?: number
  reorder?: number
  /** From when to when the link of h3 passes nothing. */
  outage?: readonly [Nanos, Nanos]
  port?: Partial<PortOptions>
  /** What all switches do beside direct responses. */
  features?: FeatureOptions
  /** Settings of its hosts. */
  hosts?: Partial<NicConfig>
  flows: readonly FlowPlan[]
  /** What does not end by then is cut off. That is no defect where `isCut`. */
  untilNs: Nanos
  isCut?: boolean
  /** Codes with which connections may end. Default: none. */
  mayEndWith?: readonly string[]
  /**
   * Least Jain index of the bytes that flows with the same start have sent when the first of them ends.
   * Absent: not judged.
   */
  jainLeast?: number
}

export const RATE_BPS = 10e9
export const DELAY_NS = 2 * MICROSECOND

const messages = (count: number, length: number, opcode: WorkOpcode = WorkOpcode.RDMA_WRITE): WorkPlan[] =>
  Array.from({ length: count }, () => ({ opcode, length }))

const { SEND, RDMA_READ } = WorkOpcode
const pair = (work: readonly WorkPlan[], more: Partial<FlowPlan> = {}): FlowPlan[] => [
  { from: 'h1', startNs: 0, work, ...more },
  { from: 'h2', startNs: 0, work, ...more },
]

export const NETWORKS = {
  shared: {
    about: 'two flows share a link, each of which could fill it; a third comes later',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    flows: [
      ...pair([...messages(7, 12_000), ...messages(3, 3000, SEND), ...messages(1, 6000, RDMA_READ)]),
      { from: 'h1', startNs: 150 * MICROSECOND, work: messages(2, 12_000) },
    ],
    untilNs: 50 * MILLISECOND,
    jainLeast: 0.8,
  },
  converging: {
    about: 'two flows meet at the last link, and nowhere before',
    shape: 'chain',
    trunkBps: 4 * RATE_BPS,
    bufferBytes: 200_000,
    flows: pair(messages(20, 12_000)),
    untilNs: 50 * MILLISECOND,
    jainLeast: 0.8,
  },
  narrow: {
    about: 'the shared link is slow, and its buffer takes some packets',
    shape: 'chain',
    trunkBps: 20e6,
    bufferBytes: 40_000,
    hosts: { probeTimeoutLeastNs: 500 * MILLISECOND },
    flows: pair(messages(10, 12_000)),
    untilNs: 5 * SECOND,
  },
  marking: {
    about: 'the shared link has a tenth of the rate of the others, and its switch marks what waits',
    shape: 'chain',
    trunkBps: RATE_BPS / 10,
    bufferBytes: 200_000,
    features: { ecn: { kminBytes: 5000, kmaxBytes: 20_000, pmax: 0.5 } },
    flows: pair(messages(10, 12_000)),
    untilNs: 5 * SECOND,
  },
  rated: {
    about: 'the shared link has a tenth of the rate of the others, and its switch works out fair rates',
    shape: 'chain',
    trunkBps: RATE_BPS / 10,
    bufferBytes: 200_000,
    features: { rocc: { flows: 64 } },
    flows: pair(messages(10, 12_000)),
    untilNs: 5 * SECOND,
  },
  lossy: {
    about: 'one packet of 50 of h1 is lost',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    loss: 0.02,
    flows: pair([...messages(12, 12_000), ...messages(1, 1000, RDMA_READ)]),
    untilNs: 5 * SECOND,
  },
  overtaking: {
    about: 'one packet of 10 of h1 is overtaken by others',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    reorder: 0.1,
    flows: pair(messages(10, 12_000)),
    untilNs: 5 * SECOND,
  },
  blind: {
    about: 'as narrow, and no switch writes telemetry',
    shape: 'chain',
    trunkBps: 20e6,
    bufferBytes: 40_000,
    hosts: { probeTimeoutLeastNs: 500 * MILLISECOND },
    features: { telemetry: false },
    flows: pair(messages(10, 12_000)),
    untilNs: 10 * SECOND,
  },
  deep: {
    about: 'the same with a buffer that takes everything, and hosts as patient as processes are',
    hosts: { probeTimeoutLeastNs: 500 * MILLISECOND, ackTimeoutNs: 1 * SECOND },
    shape: 'chain',
    trunkBps: 20e6,
    bufferBytes: 400_000,
    features: { ecn: { kminBytes: 20_000, kmaxBytes: 40_000, pmax: 0.5 }, telemetry: false },
    flows: pair(messages(10, 12_000)),
    untilNs: 10 * SECOND,
  },
  crowded: {
    about: 'more connections than a small table takes',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    flows: [...pair(messages(3, 3000)), ...pair(messages(3, 3000))],
    untilNs: 5 * SECOND,
    mayEndWith: ['WEIR_FULL', 'WEIR_REJECTED'],
  },
  tails: {
    about: 'one packet of 7 of h1 is lost, and messages are short and apart',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    loss: 0.15,
    flows: pair(messages(16, 900), { pauseNs: 20 * MICROSECOND }),
    untilNs: 5 * SECOND,
  },
  pauses: {
    about: 'applications pause for long between messages, and no switch writes telemetry',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    features: { telemetry: false },
    flows: pair(messages(5, 12_000), { pauseNs: 300 * MILLISECOND }),
    untilNs: 10 * SECOND,
  },
  broken: {
    about: 'the link of the receiver fails and stays down',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    outage: [60 * MICROSECOND, 1000 * SECOND],
    flows: pair(messages(8, 12_000)),
    untilNs: 20 * SECOND,
    isCut: true,
    mayEndWith: ['WEIR_CONNECTION_LOST', 'WEIR_TIMEOUT', 'WEIR_UNREACHABLE'],
  },
  unready: {
    about: 'the receiver posts no receives',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    flows: pair(messages(2, 500, SEND), { receives: 0 }),
    untilNs: 50 * MILLISECOND,
    isCut: true,
    mayEndWith: ['WEIR_CONNECTION_LOST'],
  },
  crossing: {
    about: 'two paths between leaves; flows of both hosts begin one after the other',
    shape: 'spines',
    trunkBps: RATE_BPS / 2,
    bufferBytes: 400_000,
    flows: [
      { from: 'h2', startNs: 0, work: messages(10, 12_000) },
      { from: 'h1', startNs: 40 * MICROSECOND, work: messages(10, 12_000) },
      { from: 'h1', startNs: 90 * MICROSECOND, work: messages(8, 12_000) },
      { from: 'h1', startNs: 100 * MICROSECOND, work: messages(8, 12_000) },
    ],
    untilNs: 5 * SECOND,
    mayEndWith: ['WEIR_NOT_ADMITTED'],
  },
  resting: {
    about: 'two paths between leaves; applications pause between messages',
    shape: 'spines',
    trunkBps: RATE_BPS / 2,
    bufferBytes: 400_000,
    flows: [...pair(messages(8, 12_000), { pauseNs: 50 * MICROSECOND }), ...pair(messages(8, 12_000))],
    untilNs: 5 * SECOND,
    mayEndWith: ['WEIR_NOT_ADMITTED'],
  },
  shares: {
    about: 'switches give the rate that a priority is guaranteed as the rate of the link',
    shape: 'chain',
    trunkBps: RATE_BPS,
    bufferBytes: 200_000,
    port: { weights: [1, 99, 0, 0, 0, 0, 0, 0] },
    features: { telemetry: { rate: 'share' } },
    flows: [...pair(messages(3, 12_000)), ...pair(messages(3, 12_000)), ...pair(messages(3, 12_000))],
    untilNs: 5 * SECOND,
  },
} as const satisfies Record<string, NetworkPlan>

export type NetworkName = keyof typeof NETWORKS
