import { checkController } from '../cc/check-controller.js'
import { checkModes, checkTelemetryModes } from '../cc/conflicts.js'
import { BASE_RTT, LINE_RATE } from '../cc/context-options.js'
import type { OptionValues } from '../cc/options.js'
import { type PathSettings, pathSettings } from '../cc/path-settings.js'
import { type TelemetrySettings, telemetrySettings } from '../cc/telemetry-settings.js'
import type { CmOptions } from '../cm/options.js'
import { WeirError } from '../errors.js'
import type { FramePool } from '../frame/frame-pool.js'
import { RUN_PACKETS_MAX } from '../frame/frame-run.js'
import { checkValue } from '../options/check-options.js'
import type { ValueOption } from '../options/option.js'
import {
  CNP_PRIORITY,
  type Recovery,
  type Start,
  transportOption,
  UNTAGGED_CNPS,
} from '../qp/transport-options.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { MacAddress } from '../wire/net/mac.js'
import { PORT_ROCE } from '../wire/net/udp.js'
import { INT_HOPS } from '../wire/telemetry/int-options.js'
import { FORMAT_NAMES, formatOf, type IntFormat } from '../wire/telemetry/telemetry.js'
import { checkSecret } from './keys/connection-key.js'
import {
  CLASS_SELECTORS,
  CONNECTIONS,
  checkKeepAlive,
  checkUntaggedCnps,
  DSCP,
  KEEP_ALIVE,
  PRIORITY,
  SOURCE_PORTS,
  UDP_PORT,
} from './nic-options.js'
import type { HostIntake } from './telemetry/host-hop.js'
import type { Connecting, ConnectOptions } from './types.js'

/** Silence after which packets are retransmitted by default: the standard's exponent 14 (IBA 9.9.2.1). */
export const ACK_TIMEOUT_NS: Nanos = 67_108_864

/** How ICRCs are made and checked. 'off': neither, in virtual time. */
type IcrcMode = 'off' | 'whole'

export interface NicConfig {
  address: HostAddress
  pool: FramePool
  /** UDP port of RoCEv2 at which peers reach this host, 1 to 65534; telemetry comes to the next one. Default 4791. */
  udpPort?: number
  /** Peers may have another `udpPort` than this host: what sends the frames obeys `Frame.udpPort`. Default false. */
  reachesOtherPorts?: boolean
  /** Called for each connection that this host asks for, unless it is to be patient. */
  onConnecting?: (connecting: Connecting) => void
  /** Source of 32-bit whole numbers: keys, PSNs, ports, ids. */
  random: () => number
  /** Rate of the host's link, bit/s; flows start at this rate and never exceed it. */
  lineRateBps: number
  mac?: MacAddress
  /** Where every frame is sent: the switch at the other end of the link. */
  peerMac?: MacAddress
  /**
   * MAC address of the next hop to a peer. The NIC asks for it for every flow and management datagram. Default:
   * `peerMac`.
   */
  macOfPeer?: (peer: HostAddress) => MacAddress
  /** Payload bytes of a full packet: 256, 512, 1024, 2048 or 4096. Default 1024. */
  pathMtu?: number
  /**
   * Bytes of the longest IP packet that the way to peers takes, 576 to 65535. Two hosts that both have it agree on a payload that fills such
   * packets, where that is more than `pathMtu` (`flow/filled-payload.ts`). Default 0: full packets have `pathMtu`.
   */
  packetBytesMax?: number
  /** Controller of connections that do not name their own. Default hpcc. */
  cc?: { name: string; options: OptionValues }
  /** Telemetry of data packets, when the controller wants it, and for how many hops. Default wide, 5. */
  int?: { format: IntFormat; hops: number }
  /**
   * Slots that connections to a peer have from when a path to it turned out to be longer than `int.hops`, 1 to 15, as far as packets
   * have room. Default 1: connections always have `int.hops`.
   */
  intHopsMax?: number
  /** How telemetry is collected and brought back; `telemetry-settings.ts` has the defaults. */
  telemetry?: Partial<TelemetrySettings>
  /** Path selection and admission; `path-settings.ts` has the defaults. */
  paths?: Partial<PathSettings>
  /**
   * How connections begin: at line rate with a window of line rate x T, as in the drafts, or carefully, with ten packets.
   * Default line-rate.
   */
  start?: Start
  /** `linkFailed` will be called: peers learn that this host may change its source ports. Default false. */
  failover?: boolean
  /** T of every connection. Default: measured, see `baseRttWindowNs`. */
  baseRttNs?: Nanos
  /**
   * Lower bound on a measured T. Two idle hosts answer sooner than busy ones, which work in batches, and the window
   * is line rate x T. Default 0, as in virtual time.
   */
  baseRttLeastNs?: Nanos
  /**
   * T is the smallest round trip of the last `baseRttWindowNs`. Default NEVER, as in virtual time: T is measured once, at connect. Where
   * nothing answers probes, the first round trips measure T, and it only falls.
   */
  baseRttWindowNs?: Nanos
  /** One ACK per so many packets. Default 1. */
  ackEveryPackets?: number
  /** Retries after a timeout or NAK without progress, 0 to 7 (IBA 9.9.2.1). Default 7. */
  retryCount?: number
  /** Retries after RNR NAK, 0 to 6; 7 = without end. Default 7. */
  rnrRetry?: number
  /** Rounded up to 4.096 us * 2^n. Default 67 ms. */
  ackTimeoutNs?: Nanos
  /**
   * A peer that has been silent for so long, although it was asked, is gone, ns; 0 = an idle connection does not notice. Default 0, as in
   * virtual time.
   */
  keepAliveNs?: Nanos
  /** Connections at a time, 1 to 65,534. Default 1024. */
  connectionsMax?: number
  /** Unacknowledged packets of one connection, a power of two. Default 8192. */
  packetsInFlightMax?: number
  /** Work requests of one queue. Default 128. */
  queueDepth?: number
  /**
   * What is retransmitted after a loss, when both ends say selective: what is missing. Otherwise all from there on, as in
   * RoCEv2. Default selective.
   */
  recovery?: Recovery
  /** Packets out of order that selective repeat keeps at a time, 2 to 1048576; one connection keeps half of them. Default 16384. */
  reorderPackets?: number
  /**
   * Packets that have to arrive out of order until selective repeat takes those before them for lost, as long as none has been
   * overtaken; with fewer, time has to pass. 1 to 65536. Default 3 (RFC 8985, DupThresh).
   */
  reorderTolerance?: number
  /**
   * Shortest silence after which selective repeat retransmits the last packet, 0 to NEVER (it does not).
   * Hosts that are processes answer late now and then. Default 0, as in virtual time: two round trips then.
   */
  probeTimeoutLeastNs?: Nanos
  /**
   * Least retransmission timeout beyond the smoothed round trip (RFC 6298), ns; with selective repeat tail probes come first. It uses up no
   * retry. Default NEVER: packets are only retransmitted after `ackTimeoutNs` of silence, or more where round trips are longer.
   */
  retransmitTimeoutLeastNs?: Nanos
  /**
   * What becomes of a defect: `throw` stops the NIC with it, for tests and virtual time. `end` counts it in `counters.defects`, and
   * the NIC goes on: the connection in whose work or handler it shows ends with WEIR_INTERNAL, and a datagram of no connection is
   * dropped. Default throw.
   */
  defects?: 'throw' | 'end'
  /** Called with each defect that is counted. What it throws counts as one more defect, and ends nothing. Default: nobody. */
  onDefect?: (defect: unknown) => void
  /** How ICRCs are made and checked. Default whole. */
  icrc?: IcrcMode
  /**
   * Connections with Weir hosts that have it too carry packets without ICRC: the field is 0, and nobody checks it. Something else has to
   * find damaged packets, such as the UDP checksum of sockets. Default false.
   */
  withoutIcrc?: boolean
  /** UDP ports that the port can send from, 1 to 64 of them: connections draw from these. Default: any, 0xc000 to 0xffff. */
  sourcePorts?: readonly number[]
  /** The port sends payloads from where they lie, see `Port.gathers`. Default false. */
  gathers?: boolean
  /** The port sends runs whole, see `Port.sendsRuns`. Default false. */
  sendsRuns?: boolean
  /**
   * Connections with Weir hosts that say the same acknowledge a message in the answer, where the answer is a short message that leaves
   * at once: one packet in place of two. With a secret acknowledgements are authenticated, so they leave by themselves. Default false.
   */
  carriesAcks?: boolean
  /** The port takes runs of packets, see `Port.takesRuns`; peers learn it if not. Default true. */
  takesRuns?: boolean
  /** The port shows CE marks of packets, and the TTL or hop limit with which they arrive, see `Port`. Default true. */
  seesMarks?: boolean
  seesHops?: boolean
  /**
   * The port shows and chooses the IPv4 identification of packets, see `Port`. Weir hosts count it as 0 in the ICRC, whatever it is. Where
   * it is not shown, the ICRC of other peers is checked up to those 16 bits; where it is not chosen, they cannot be reached. Default true.
   */
  seesIds?: boolean
  choosesIds?: boolean
  /**
   * What shows how well this host keeps up with arriving packets: `telemetry.hostHop` makes it the last hop of the
   * paths to this host. Default: none.
   */
  hostIntake?: HostIntake
  /** Payload bytes that this host's receive buffer takes at once; peers learn it at connect. Default: no limit. */
  receiveBudgetBytes?: number
  /** Priority, 0 to 7, of connections that name none, and of the connection manager's datagrams. Default 0. */
  priority?: number
  /**
   * DSCP, 0 to 63, that packets of priority 0 to 7 carry; the switches' maps must lead back. Default: the class
   * selectors, 8 x the priority (RFC 2474, section 4.2.2).
   */
  dscpOfPriority?: readonly number[]
  /** Priority, 0 to 7, of congestion notification packets. Default: that of the packets that they answer. */
  cnpPriority?: number
  /**
   * With a secret, CNPs without a tag count while the flow sends faster than this share of the line rate, 0 to 1: switches of the network may
   * send them, and so may anybody. Default 0: they do not.
   */
  untaggedCnps?: number
  /**
   * Shared with all peers, 16 to 1024 bytes: connections without it are refused, and feedback is authenticated by a key of
   * each connection (draft-miao-rtgwg-hpccplus, security considerations). Default: none.
   */
  secret?: Uint8Array
  /** Lateness of the driving loop that pacing makes up for, ns. Default 0, as in virtual time. */
  slackNs?: Nanos
  /**
   * Packets of a flow that not all collect telemetry may leave in runs that take up to so much time at the flow's rate, ns,
   * and are no longer than a turn. Default 0: each leaves at its own time, as in virtual time.
   */
  pacingRunNs?: Nanos
  /**
   * Consecutive packets of one work request are written together as far as window and pacing let them leave at once, so many at
   * most, 1 to 64, and no more than one UDP datagram holds. They are the same packets as without runs. Default 1: each is
   * written as it leaves, as in virtual time.
   */
  runPackets?: number
  /** Timeouts and bounds of the connection manager. Default: as Linux. */
  cm?: Partial<Omit<CmOptions, 'caGuid' | 'addresses' | 'udpPort' | 'random'>>
}

export { RECOVERIES, type Recovery, STARTS, type Start } from '../qp/transport-options.js'

/** A NIC's settings, checked, with defaults filled in. */
export type NicSettings = Required<Omit<NicConfig, Optional | 'telemetry' | 'paths'>> &
  Pick<NicConfig, Optional> & { telemetry: TelemetrySettings; paths: PathSettings }

type Optional =
  | 'macOfPeer'
  | 'onConnecting'
  | 'baseRttNs'
  | 'sourcePorts'
  | 'cnpPriority'
  | 'receiveBudgetBytes'
  | 'secret'
  | 'hostIntake'

/** Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function nicSettings(config: NicConfig): NicSettings {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
  const settings: NicSettings = {
    mac: macOf(config.address),
    peerMac: 0x02_57_45_49_52_00,
    udpPort: PORT_ROCE,
    reachesOtherPorts: false,
    pathMtu: 1024,
    packetBytesMax: 0,
    cc: { name: 'hpcc', options: {} },
    int: { format: 'wide', hops: 5 },
    intHopsMax: 1,
    start: 'line-rate',
    failover: false,
    baseRttLeastNs: 0,
    baseRttWindowNs: NEVER,
    ackEveryPackets: 1,
    retryCount: 7,
    rnrRetry: 7,
    ackTimeoutNs: ACK_TIMEOUT_NS,
    keepAliveNs: 0,
    connectionsMax: CONNECTIONS.default,
    packetsInFlightMax: 8192,
    queueDepth: 128,
    recovery: 'selective',
    reorderPackets: 16_384,
    reorderTolerance: 3,
    probeTimeoutLeastNs: 0,
    retransmitTimeoutLeastNs: NEVER,
    defects: 'throw',
    onDefect: () => {},
    icrc: 'whole',
    withoutIcrc: false,
    carriesAcks: false,
    gathers: false,
    sendsRuns: false,
    takesRuns: true,
    seesMarks: true,
    seesHops: true,
    seesIds: true,
    choosesIds: true,
    priority: 0,
    dscpOfPriority: CLASS_SELECTORS,
    slackNs: 0,
    pacingRunNs: 0,
    runPackets: 1,
    untaggedCnps: 0,
    cm: {},
    ...(given as unknown as NicConfig),
    telemetry: telemetrySettings(config.telemetry),
    paths: pathSettings(config.paths),
  }
  check(settings)
  return settings
}

/** Settings in which hosts differ that are alike otherwise. */
export type OwnSettings = Pick<
  NicSettings,
  'address' | 'random' | 'lineRateBps' | 'dscpOfPriority' | 'ackTimeoutNs' | 'connectionsMax'
>

/** The settings of a host that differs from another one in these alone. Throws WEIR_BAD_ARGUMENT for one that is out of its range. */
export function settingsLike(other: NicSettings, own: OwnSettings): NicSettings {
  const settings = { ...other, ...own, mac: macOf(own.address) }
  firstOf.set(settings, firstOf.get(other) ?? other)
  checkOwn(settings)
  if (own.lineRateBps !== other.lineRateBps)
    checkController(settings.cc, settings.lineRateBps, settings.pathMtu)
  return settings
}

export function intFormat(settings: NicSettings): number {
  return formatOf(settings.int.format)
}

/** Exponent n of the smallest 4.096 us * 2^n that is not below `ns`, 0 to 31; 0 = never. */
export function timeoutExponent(ns: Nanos): number {
  if (ns === 0) return 0
  return Math.min(31, Math.max(1, Math.ceil(Math.log2(ns / 4096))))
}

/** The priority of a peer's DSCP: that which this host would send with it, else its class selector. */
export function priorityOfDscp(settings: NicSettings, dscp: number): number {
  const priority = settings.dscpOfPriority.indexOf(dscp)
  return priority >= 0 ? priority : dscp >>> 3
}

/** A locally administered MAC that follows from the address. */
export function macOf(address: HostAddress): MacAddress {
  let low = 0
  for (let i = 12; i < 16; i++) low = low * 256 + address.gid[i]!
  return 0x02_57_00_00_00_00 + low
}

/** A second: a pacing clock beyond it is a mistake of units. */
const SLACK_MAX_NS = 1e9

function check(settings: NicSettings): void {
  const power = settings.packetsInFlightMax
  if (!Number.isInteger(power) || power < 2 || power > 1 << 20 || (power & (power - 1)) !== 0) {
    throw bad('packetsInFlightMax', 'a power of two from 2 to 1048576', power)
  }
  checkOwn(settings)
  checkTransport('pathMtu', settings.pathMtu)
  if (settings.packetBytesMax !== 0) whole('packetBytesMax', settings.packetBytesMax, 576, 65_535)
  oneOf('defects', settings.defects, ['throw', 'end'])
  oneOf('icrc', settings.icrc, ['off', 'whole'])
  oneOf('int.format', settings.int.format, FORMAT_NAMES)
  checkRow(INT_HOPS, 'int.hops', settings.int.hops)
  checkRow(INT_HOPS, 'intHopsMax', settings.intHopsMax)
  checkTelemetryModes({ telemetry: settings.telemetry, format: settings.int.format })
  whole('ackEveryPackets', settings.ackEveryPackets, 0, 1 << 23)
  checkTransport('retryCount', settings.retryCount)
  checkTransport('rnrRetryCount', settings.rnrRetry, 'rnrRetry')
  checkRow(PRIORITY, 'priority', settings.priority)
  checkRow(CNP_PRIORITY, 'cnpPriority', settings.cnpPriority ?? 0)
  checkRow(UNTAGGED_CNPS, 'untaggedCnps', settings.untaggedCnps)
  checkUntaggedCnps('NIC: untaggedCnps', settings.untaggedCnps, 'a key', settings.secret !== undefined)
  checkTransport('recovery', settings.recovery)
  checkTransport('start', settings.start)
  whole('reorderPackets', settings.reorderPackets, 2, 1 << 20)
  whole('reorderTolerance', settings.reorderTolerance, 1, 65_536)
  between('probeTimeoutLeastNs', settings.probeTimeoutLeastNs, 0, NEVER)
  checkRow(UDP_PORT, 'udpPort', settings.udpPort)
  between('retransmitTimeoutLeastNs', settings.retransmitTimeoutLeastNs, 0, NEVER)
  whole('queueDepth', settings.queueDepth, 1, 65_536)
  checkRow(KEEP_ALIVE, 'keepAliveNs', settings.keepAliveNs)
  checkKeepAlive('NIC: keepAlive', settings.keepAliveNs)
  between('slackNs', settings.slackNs, 0, SLACK_MAX_NS)
  between('pacingRunNs', settings.pacingRunNs, 0, SLACK_MAX_NS)
  whole('runPackets', settings.runPackets, 1, RUN_PACKETS_MAX)
  checkBaseRtt(settings.baseRttNs)
  between('baseRttWindowNs', settings.baseRttWindowNs, 1, NEVER)
  if (settings.secret !== undefined) checkSecret(settings.secret)
  whole('receiveBudgetBytes', settings.receiveBudgetBytes ?? 0, 0, Number.MAX_SAFE_INTEGER)
  const ports = settings.sourcePorts ?? [1]
  checkRow(SOURCE_PORTS, 'number of sourcePorts', ports.length)
  for (const port of ports) whole('sourcePorts', port, 1, 0xffff)
  checkController(settings.cc, settings.lineRateBps, settings.pathMtu)
}

function checkOwn(settings: OwnSettings): void {
  const { lineRateBps, dscpOfPriority, connectionsMax, ackTimeoutNs } = settings
  checkRow(LINE_RATE, 'lineRateBps', lineRateBps)
  if (dscpOfPriority.length !== 8)
    throw bad('dscpOfPriority', 'a list of 8 DSCPs, each 0 to 63', dscpOfPriority)
  for (const dscp of dscpOfPriority) checkRow(DSCP, 'dscpOfPriority', dscp)
  checkRow(CONNECTIONS, 'connectionsMax', connectionsMax)
  checkTransport('ackTimeout', ackTimeoutNs, 'ackTimeoutNs')
}

/**
 * Throws WEIR_BAD_ARGUMENT for an option of a connection that is out of its range. Objects among the options are frozen: what follows from
 * them is kept, and counts for other connections that are given the same ones.
 */
export function checkConnectOptions(options: ConnectOptions, settings: NicSettings): void {
  const { udpPort = settings.udpPort } = options
  checkRow(UDP_PORT, 'udpPort', udpPort)
  if (udpPort !== settings.udpPort && !settings.reachesOtherPorts) {
    throw new WeirError(
      'WEIR_UNSUPPORTED',
      `NIC: all hosts of this network have UDP port ${settings.udpPort}, none has ${udpPort}; io batch, dgram and raw reach others`,
    )
  }
  if (options.pathMtu !== undefined) checkTransport('pathMtu', options.pathMtu)
  checkBaseRtt(options.baseRttNs)
  checkRow(PRIORITY, 'priority', options.priority ?? 0)
  whole('sourcePort', options.sourcePort ?? 0xc000, 0xc000, 0xffff)
  if (options.paths !== undefined) pathSettings(options.paths)
  const asTheNic = options.telemetry === undefined && options.paths === undefined && options.cc === undefined
  const modesOf = firstOf.get(settings) ?? settings
  if (asTheNic && modesChecked.has(modesOf)) return
  checkOwnModes(options, settings)
  if (asTheNic) modesChecked.add(modesOf)
  for (const given of [options.cc, options.cc?.options, options.telemetry, options.paths])
    Object.freeze(given)
}

/** NICs whose own modes fit together, as a connection without modes of its own has shown. */
const modesChecked = new WeakSet<NicSettings>()
/** Settings that are like others → the first of those. They have the same modes. */
const firstOf = new WeakMap<NicSettings, NicSettings>()

/** The settings of the connection, beside those of its NIC. Settings of the NIC may be for other connections. */
function checkOwnModes({ telemetry = {}, cc, paths = {} }: ConnectOptions, settings: NicSettings): void {
  telemetrySettings(telemetry)
  checkModes({
    given: telemetry,
    telemetry: { ...settings.telemetry, ...telemetry },
    format: settings.int.format,
    paths: pathSettings({ ...settings.paths, ...paths }),
    cc: cc ?? settings.cc,
    start: settings.start,
  })
  if (paths.admissionQueue === undefined) return
  const text = 'paths: admissionQueue is of a whole host: give it to the daemon, and leave it out here'
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}

export function checkTransport(
  name: Parameters<typeof transportOption>[0],
  value: unknown,
  as: string = name,
): void {
  checkValue('NIC', transportOption(name, as), value)
}

function checkRow(option: ValueOption, as: string, value: unknown): void {
  checkValue('NIC', option, value, as)
}

/** 0 and absent: T is measured. */
function checkBaseRtt(value: Nanos = 0): void {
  if (value !== 0) checkRow(BASE_RTT, 'baseRttNs', value)
}

function whole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value)) throw bad(name, `a whole number from ${least} to ${most}`, value)
  between(name, value, least, most)
}

function between(name: string, value: number, least: number, most: number): void {
  if (!(value >= least && value <= most)) throw bad(name, `${least} to ${most}`, value)
}

function oneOf(name: string, value: string, choices: readonly string[]): void {
  if (!choices.includes(value)) throw bad(name, `one of ${choices.join(', ')}`, value)
}

function bad(name: string, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `NIC: ${name} is ${range}, not ${value}`)
}
