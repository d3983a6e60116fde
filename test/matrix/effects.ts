/**
 * How the effect of each option is seen: a value other than the default, the network in which it matters, and
 * the figure that shows it. Types or a test make sure that the list is complete: a new option needs an entry
 * that says how its effect is seen, or why it has none in these networks.
 */
import type { NicConfig } from '../../lib/nic/config.js'
import { MICROSECOND, MILLISECOND } from '../../lib/time/nanos.js'
import { FORMAT_NAMES } from '../../lib/wire/telemetry/telemetry.js'
import type { Figures } from './figures.js'
import type { NetworkName } from './networks.js'
import type { MatrixConfig } from './run-network.js'

/** Returns true if a run with the value differs from one without it as the value promises. */
type Seen = (given: Figures, absent: Figures) => boolean

export interface Effect {
  value: unknown
  /** What has to be set beside it. */
  needs?: MatrixConfig
  /** Networks that are tried, one after the other, until the effect is seen. Default: `shared`. */
  networks?: readonly NetworkName[]
  seen: Seen
}

type Name = keyof Figures

export const differs =
  (...names: Name[]): Seen =>
  (given, absent) =>
    names.some(name => given[name] !== absent[name])
const less =
  (name: Name): Seen =>
  (given, absent) =>
    given[name] < absent[name]
export const more =
  (name: Name): Seen =>
  (given, absent) =>
    given[name] > absent[name]
const is =
  (name: Name, value: number | string): Seen =>
  given =>
    given[name] === value
const either =
  (...all: Seen[]): Seen =>
  (given, absent) =>
    all.some(seen => seen(given, absent))

/** Packets of `packetBytesMax` carry more than the path MTU, so they are taken. Every path MTU is a power of two. */
const filled: Seen = (given, absent) =>
  given.payloadMax === absent.payloadMax && !Number.isInteger(Math.log2(given.payloadMax))

const probing: MatrixConfig = { telemetry: { collect: 'probe' } }
const asking: MatrixConfig = { telemetry: { subscribe: 'flag' } }
const fourPorts: MatrixConfig = { paths: { count: 4 } }
const colliding: MatrixConfig = { paths: { count: 8, start: 'hash', intervalNs: 20 * MICROSECOND } }
const draining: MatrixConfig = { paths: { ...colliding.paths, move: 'drain', margin: 0 } }
const bounded: MatrixConfig = { paths: { admission: 0.3 } }
const waiting: MatrixConfig = { paths: { admission: 0.3, admissionWaitNs: 100 * MICROSECOND } }
const crossing = ['crossing', 'resting'] as const

export const TELEMETRY_EFFECTS: Readonly<Record<string, readonly Effect[]>> = {
  collect: [
    {
      value: 'probe',
      seen: (given, absent) => given.probes > absent.probes && given.collecting < absent.collecting,
    },
  ],
  everyPackets: [{ value: 60, seen: less('collecting') }],
  everyBytes: [{ value: 40_000, seen: less('collecting') }],
  probeShare: [{ value: 0.0001, needs: probing, seen: less('probes') }],
  plain: [{ value: true, needs: { telemetry: { everyPackets: 4 } }, seen: more('plain') }],
  answer: [{ value: 'notify', seen: more('notifications') }],
  hops: [{ value: 'busiest', seen: less('pathHopsMax') }],
  // How many switches answer depends on the queue: test/virtual has that.
  subscribe: [
    { value: 'flag', seen: more('asking') },
    { value: 'dscp', seen: differs('dscps') },
  ],
  subscribeEvery: [
    { value: 8, needs: asking, seen: either(less('asking'), differs('trace', 'directResponses')) },
  ],
  subscribeDscp: [{ value: 27, needs: { telemetry: { subscribe: 'dscp' } }, seen: differs('dscps') }],
  loadMax: [{ value: 8, networks: ['shares'], seen: less('implausible') }],
  hostHop: [{ value: false, seen: either(less('pathHopsMax'), differs('trace')) }],
}

export const PATH_EFFECTS: Readonly<Record<string, readonly Effect[]>> = {
  count: [{ value: 4, networks: crossing, seen: more('pathProbes') }],
  start: [{ value: 'hash', needs: fourPorts, networks: crossing, seen: less('firstDataNs') }],
  move: [
    { value: 'idle', needs: colliding, networks: ['crossing', 'resting'], seen: more('pathMoves') },
    { value: 'drain', needs: colliding, networks: crossing, seen: more('pathMoves') },
  ],
  margin: [{ value: 1, needs: draining, networks: crossing, seen: less('pathMoves') }],
  intervalNs: [{ value: 300 * MICROSECOND, needs: fourPorts, networks: crossing, seen: less('pathProbes') }],
  admission: [{ value: 0.3, networks: crossing, seen: differs('errors', 'admissionDelayNs', 'endsNs') }],
  admissionWaitNs: [
    {
      value: 1 * MILLISECOND,
      needs: bounded,
      networks: crossing,
      seen: differs('errors', 'admissionDelayNs'),
    },
  ],
  admissionQueue: [
    { value: 1, needs: waiting, networks: crossing, seen: differs('errors', 'admissionDelayNs', 'endsNs') },
  ],
}

const losing = ['lossy', 'narrow', 'tails', 'overtaking'] as const

/** A text: why the matrix leaves the setting alone. */
export const NIC_EFFECTS: Readonly<
  Record<Exclude<keyof NicConfig, 'telemetry' | 'paths' | 'cc'>, readonly Effect[] | string>
> = {
  address: 'who the host is',
  pool: 'where frames come from',
  random: 'where random numbers come from',
  mac: 'who the host is',
  peerMac: 'who its switch is',
  macOfPeer: 'who its peers are',
  onConnecting: 'a listener',
  hostIntake: 'every host of the matrix has one: telemetry.hostHop',
  udpPort: 'of sockets: test/daemon',
  reachesOtherPorts: 'of sockets: test/daemon',
  icrc: 'of sockets: test/nic/rx',
  defects: 'of NICs with a defect: test/nic/defects',
  onDefect: 'of NICs with a defect: test/nic/defects',
  gathers: 'of sockets: test/nic/gather',
  sendsRuns: 'of sockets: test/nic/written-together',
  takesRuns: 'of sockets: test/nic/runs',
  runPackets:
    'of loops that take many packets at once, and it changes none of them: test/nic/written-together',
  seesMarks: 'of sockets: test/nic/agreement',
  seesHops: 'of sockets: test/nic/agreement',
  keepAliveNs: 'of hosts that end without a word: test/nic/keep-alive',
  seesIds: 'of sockets: test/nic/plain-ids',
  choosesIds: 'of sockets: test/nic/plain-ids',
  slackNs: 'of loops that wake late: test/nic/pacing',
  untaggedCnps: 'of packets that nobody in these networks sends: test/nic/cnps',
  failover: 'of links that a switch says have failed: test/inof/scenario',
  cm: 'of handshakes, which end before data begins: test/cm',
  lineRateBps: [{ value: 5e9, seen: less('rateMax') }],
  pathMtu: [256, 512, 2048, 4096].map(value => ({ value, seen: either(is('payloadMax', value), filled) })),
  withoutIcrc: 'of packets that are checked on their way in: test/nic/without-icrc.test.ts',
  carriesAcks: 'of answers to messages, of which these flows have none: test/nic/carried-acks.test.ts',
  packetBytesMax: [
    { value: 1500, seen: either(more('payloadMax'), (_, absent) => absent.payloadMax > 1500) },
  ],
  int: [
    ...FORMAT_NAMES.slice(1).map(format => ({ value: { format, hops: 5 }, seen: differs('formats') })),
    { value: { format: 'wide', hops: 2 }, seen: differs('headerBytes', 'pathHopsMax') },
    { value: { format: 'wide', hops: 1 }, seen: differs('headerBytes', 'pathHopsMax') },
  ],
  intHopsMax: [
    {
      value: 6,
      needs: { int: { format: 'wide', hops: 1 } },
      seen: either(more('lastPathHops'), more('headerBytes')),
    },
  ],
  start: [{ value: 'careful', seen: either(less('beginWindow'), less('probes'), differs('trace')) }],
  baseRttNs: [{ value: 100 * MICROSECOND, seen: is('baseRttNs', 100 * MICROSECOND) }],
  baseRttLeastNs: [{ value: 100 * MICROSECOND, seen: is('baseRttNs', 100 * MICROSECOND) }],
  baseRttWindowNs: [
    { value: 50 * MICROSECOND, networks: ['shared', 'narrow'], seen: differs('baseRttChanges', 'baseRttNs') },
  ],
  ackEveryPackets: [
    {
      value: 8,
      networks: ['shared', 'deep'],
      seen: either(less('acks'), less('notifications'), less('windows')),
    },
  ],
  retryCount: [{ value: 1, networks: ['broken'], seen: less('endsNs') }],
  rnrRetry: [{ value: 1, networks: ['unready'], seen: differs('errors') }],
  ackTimeoutNs: [{ value: 2 * MILLISECOND, networks: ['broken'], seen: less('endsNs') }],
  connectionsMax: [{ value: 2, networks: ['crowded'], seen: differs('errors') }],
  packetsInFlightMax: [
    { value: 8, networks: ['shared', 'deep'], seen: either(less('inFlightMax'), differs('trace')) },
  ],
  queueDepth: [{ value: 1, networks: ['shared', 'crossing', 'deep'], seen: differs('trace') }],
  recovery: [{ value: 'goBackN', networks: losing, seen: less('sacks') }],
  reorderPackets: [{ value: 4, networks: losing, seen: differs('trace') }],
  reorderTolerance: [{ value: 1, networks: losing, seen: differs('trace') }],
  probeTimeoutLeastNs: [
    { value: 1 * MILLISECOND, networks: ['tails', 'lossy'], seen: differs('trace', 'endsNs') },
  ],
  retransmitTimeoutLeastNs: [
    {
      value: 5 * MILLISECOND,
      networks: ['tails', 'lossy', 'broken'],
      seen: differs('trace', 'endsNs', 'timeouts'),
    },
  ],
  sourcePorts: [
    { value: [50_000, 50_001], seen: given => /^50000 50001$|^5000[01]$/.test(given.sourcePorts) },
  ],
  receiveBudgetBytes: [{ value: 9000, seen: either(less('inFlightMax'), differs('trace')) }],
  priority: [{ value: 3, seen: differs('dscps') }],
  cnpPriority: [
    {
      value: 6,
      needs: { cc: { name: 'dcqcn', options: {} } },
      networks: ['marking'],
      seen: is('cnpDscp', 48),
    },
  ],
  dscpOfPriority: [{ value: [2, 10, 18, 26, 34, 42, 50, 58], seen: differs('dscps') }],
  secret: [{ value: Buffer.alloc(32, 7), seen: differs('trace', 'endsNs') }],
  pacingRunNs: [
    {
      value: 2 * MILLISECOND,
      needs: { cc: { name: 'cubic', options: {} } },
      networks: ['deep'],
      seen: differs('trace'),
    },
  ],
}

/** Options of controllers that need another value than the range suggests, or other networks: of all that have it, or of one. */
export const CC_EFFECTS: Readonly<Record<string, Partial<Effect> | string>> = {
  g: 'it takes CNPs, or marks, with a pause between them: test/cc/dcqcn, test/cc/dctcp',
  alphaTimer: { value: 1 * MICROSECOND },
  byteCounter: { value: 1000 },
  // The least value times four is 4 bit/s: a flow hardly grows again, and 400,000 events of path probes pass before its work is done.
  rAi: { value: 40e6 },
  delta: { value: 40e6 },
  rHai: 'it takes more steps of both counters than these flows have: test/cc/dcqcn',
  eta: { value: 0.5 },
  flows: { value: 2 },
  wAi: { value: 3000 },
  minRate: { value: 6e9 },
  countFlows: {},
  lastHop: { networks: ['converging'] },
  lastHopAlpha: {
    value: 2,
    needs: { cc: { name: '', options: { lastHop: 1 } } },
    networks: ['converging'],
  },
  lastHopBeta: {
    value: 0.6,
    needs: { cc: { name: '', options: { lastHop: 1 } } },
    networks: ['converging'],
  },
  'fncc.lossBeta': 'it takes a loss while no link is full: test/cc/fncc',
  lossBeta: { needs: { cc: { name: '', options: { lossReaction: 1 } } } },
  patience: 'its network loses telemetry amid a flow: test/cc/auto',
  confirm: { value: 20, needs: { start: 'careful' } },
  c: { value: 100 },
  firstGrowth: 'it takes a slow start that ends although no queue is there: test/cc/cubic-parts',
  fastConvergence: 'it takes two losses far apart: test/cc/cubic',
  hystartRttMost: { value: 0, needs: { cc: { name: '', options: { hystartRttLeast: 0 } } } },
  hystartRttDivisor: { value: 1, needs: { cc: { name: '', options: { hystartRttLeast: 0 } } } },
  cssRounds: { value: 1, needs: { cc: { name: '', options: { hystartRttLeast: 0 } } } },
  window: { value: 20_000 },
  rate: { value: 2e9 },
  maxWindow: { value: 5000 },
  hyperAfter: 'it takes many round trips in a row that do not grow: test/cc/timely',
  hyperSteps: 'it takes many round trips in a row that do not grow: test/cc/timely',
  hyperBelowLow: 'it takes many short round trips in a row: test/cc/timely',
  baseTarget: { value: 100_000 },
  minCwnd: { value: 4 },
  endTarget: 'hosts in virtual time answer at once: test/cc/swift',
  endWeight: 'hosts in virtual time answer at once: test/cc/swift',
  resetAfter: 'it takes several timeouts in a row: test/cc/swift',
  segment: { value: 4096 },
  recovery: { value: 30, networks: ['rated'] },
  'rocc.minRate': { value: 800e6, networks: ['rated'] },
  intervalMost: { value: 10 * MICROSECOND, networks: ['rated'] },
}
/** Where the options of controllers are looked for. */
export const CC_NETWORKS: readonly NetworkName[] = ['shared', 'blind', 'lossy', 'marking', 'deep', 'pauses']

/**
 * Options whose effect depends on moments that other options move or remove, so they are judged alone. In
 * pairs only the checkers, the refusals and the effect of the other value are judged.
 */
export const TIMELY: readonly { options: RegExp; because: string }[] = [
  {
    options: /^telemetry\.(everyPackets|everyBytes|probeShare)$/,
    because: 'controllers that need little telemetry, and long round trips, collect less anyway',
  },
  {
    options: /^telemetry\.loadMax$/,
    because: 'it takes telemetry that is ahead of the rate told, so samples at the right distance',
  },
  {
    options: /^paths\.(admissionQueue|admissionWait|margin|start|move)$/,
    because: 'it takes flows that meet, and paths that differ then',
  },
  {
    options: /^paths\.(count|interval)$/,
    because: 'it takes rounds of probes, whose number depends on how long flows run',
  },
  {
    options: /^(reorderTolerance|reorderPackets|probeTimeoutLeastNs|retransmitTimeoutLeastNs|ackTimeoutNs)$/,
    because: 'it takes a loss at the right place',
  },
  {
    options: /^(packetsInFlightMax|queueDepth|receiveBudgetBytes|lineRateBps)$/,
    because: 'another bound may be tighter',
  },
  {
    options: /^(pacingRunNs|baseRttWindowNs|baseRttLeastNs)$/,
    because: 'it takes a pace, or a round trip, that others set',
  },
  {
    options: /^intHopsMax$/,
    because: 'the sender learns of long paths from echoes, which a receiver-based controller does not return',
  },
  {
    options: /^telemetry\.hostHop$/,
    because: 'a receiver-based controller returns no hops, and a bound may hold its windows',
  },
  {
    options: /^cnpPriority$/,
    because: 'CNPs go only to senders whose controller asks for them: test/nic/cnps',
  },
  {
    options: /^int$/,
    because:
      'with telemetry on acknowledgements data collects nothing, and its encapsulation is that of the other end: test/cc/fncc',
  },
  { options: /^ackEveryPackets$/, because: 'small windows ask for acknowledgements by themselves' },
  {
    options: /^(hpcc|rx-hpcc|fncc|rocc|cubic|auto|fixed-window|dcqcn|dctcp|timely|swift|rttcc)\./,
    because: 'a constant counts only where its term decides',
  },
]
