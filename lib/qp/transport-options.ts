/** Settings of the reliable transport: the one table that scenario files, `weir daemon`, its help and its checks follow. */
import type { CommandOption, SettingsOf, ValueOption } from '../options/option.js'
import { MILLISECOND, SECOND } from '../time/nanos.js'

export const RECOVERIES = ['selective', 'goBackN'] as const
export type Recovery = (typeof RECOVERIES)[number]

/** How connections begin: at line rate with a window of line rate x T, or with ten packets. */
export const STARTS = ['line-rate', 'careful'] as const
export type Start = (typeof STARTS)[number]

/** Payloads of a packet that InfiniBand knows. */
export const PATH_MTUS = [256, 512, 1024, 2048, 4096] as const

/** The longest that 5 bits can say is 4.096 us * 2^31, 2.4 hours (IBA, local ACK timeout). */
const ACK_TIMEOUT_MAX_NS = 2 * 3600 * SECOND

/** The default is that of scenarios, which are as the papers have it. */
const TABLE = [
  {
    name: 'pathMtu',
    kind: 'choice',
    choices: PATH_MTUS,
    default: 1024,
    doc: 'payload bytes of a full packet',
    example: 4096,
    command: { flag: '--mtu <bytes>', usual: 'what fits the interface' },
  },
  {
    name: 'ackEvery',
    kind: 'count',
    min: 1,
    max: 256,
    default: 1,
    doc: 'the receiver acknowledges at least every so many packets',
    example: 16,
    command: { flag: '--ack-every <packets>', default: 16 },
  },
  {
    name: 'retryCount',
    kind: 'count',
    min: 0,
    max: 7,
    default: 7,
    doc: 'consecutive timeouts or sequence NAKs without progress before a connection fails (IBA: retry count)',
    example: 3,
    command: { flag: '--retry-count <count>' },
  },
  {
    name: 'rnrRetryCount',
    kind: 'count',
    min: 0,
    max: 7,
    default: 7,
    doc: 'consecutive RNR NAKs before a connection fails; 7: no limit (IBA: RNR retry count)',
    example: 3,
  },
  {
    name: 'ackTimeout',
    kind: 'time',
    min: 0,
    max: ACK_TIMEOUT_MAX_NS,
    default: 0,
    doc: 'silence after which packets are retransmitted. 0 means never in a daemon; in a scenario it means 67 ms, or four round trips of the longest path where that is more',
    example: '10ms',
    command: { flag: '--ack-timeout <time>', default: 268 * MILLISECOND },
  },
  {
    name: 'recovery',
    kind: 'choice',
    choices: RECOVERIES,
    default: 'selective',
    doc: 'what is retransmitted after a loss: lost packets alone, if the peer agrees (selective), or everything from the loss on (goBackN)',
    example: 'goBackN',
    command: { flag: '--recovery <name>' },
  },
  {
    name: 'start',
    kind: 'choice',
    choices: STARTS,
    default: 'line-rate',
    doc: 'how flows begin: at line rate with a window of line rate x T, as in the papers, or with ten packets (careful)',
    example: 'careful',
    command: { flag: '--start <name>', default: 'careful' },
  },
] as const satisfies readonly ValueOption[]

/** The priority of CNPs. It stands beside the table, because not every port sets the DSCP of packets. */
export const CNP_PRIORITY = {
  name: 'cnpPriority',
  kind: 'count',
  min: 0,
  max: 7,
  doc: 'priority of congestion notification packets, by which this host answers CE marks (DCQCN, section 3.3); it chooses their DSCP',
  usual: 'that of the packets that they answer',
  example: 6,
  command: { flag: '--cnp-priority <number>', usual: 'that of the packets that they answer' },
} as const satisfies CommandOption

/** How far CNPs count that nobody proves. It stands beside the table, because it has no effect without a key. */
export const UNTAGGED_CNPS = {
  name: 'untaggedCnps',
  kind: 'share',
  min: 0,
  max: 1,
  default: 0,
  doc: 'on a connection with a key, CNPs without a tag, which switches of the network may send, count while the flow sends faster than this share of the line rate; 0: never',
  example: 0.1,
  command: { flag: '--untagged-cnps <share>' },
} as const satisfies CommandOption

export type TransportOptions = SettingsOf<typeof TABLE>

export const TRANSPORT_OPTIONS: readonly ValueOption[] = TABLE

/** The option of that name, with the name under which a caller knows it. */
export function transportOption(name: (typeof TABLE)[number]['name'], as: string = name): ValueOption {
  return { ...TRANSPORT_OPTIONS.find(option => option.name === name)!, name: as }
}
