/** Opens a NIC on a port and drives it in real time. Every host has one. */

import { checkController } from '../cc/check-controller.js'
import { checkModes, checkTelemetryModes } from '../cc/conflicts.js'
import type { OptionValues } from '../cc/options.js'
import { type PathSettings, pathSettings } from '../cc/path-settings.js'
import { type TelemetrySettings, telemetrySettings } from '../cc/telemetry-settings.js'
import { WeirError } from '../errors.js'
import { FramePool } from '../frame/frame-pool.js'
import { RUN_PACKETS_MAX } from '../frame/frame-run.js'
import type { InofHostEnd } from '../inof/host-end.js'
import { interfaceRateBps } from '../io/interfaces/interface.js'
import { HostLoop } from '../io/loop/host-loop.js'
import { Intake } from '../io/loop/intake.js'
import type { Port } from '../io/port.js'
import { type ConnectAttempt, Reachability } from '../io/ports/reachability.js'
import type { Waiter } from '../io/waiter.js'
import type { Recovery, Start } from '../nic/config.js'
import { pathMtuFor } from '../nic/flow/filled-payload.js'
import { Nic } from '../nic/nic.js'
import { KEEP_ALIVE, SOURCE_PORTS } from '../nic/nic-options.js'
import type { Connecting } from '../nic/types.js'
import { flagOf } from '../options/option.js'
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import { crc32ByAddress } from '../wire/bytes/crc32.js'
import { HostAddress } from '../wire/net/address.js'
import type { IntFormat } from '../wire/telemetry/telemetry.js'
import { announceHost, checkInof, type InofAnnouncement } from './announce-host.js'
import { checkTelemetry } from './check-telemetry.js'
import { hopsFor, type OpenedPort, type OverlayLink, openPort, PORT_ROOM_BYTES } from './open-port.js'
import { systemRandom } from './random.js'

/** Frames that may be in use at a time: 19 MB if all are. */
const FRAMES = 4096
/** Lateness of the event loop for which pacing compensates. */
const SLACK_NS: Nanos = 1 * MILLISECOND
/**
 * Packets that leave together take at most this time at the flow's rate, like TCP's in the kernel. Each run
 * of packets wakes this process, every switch and the peer once. Single packets would wake them once each.
 */
const PACING_RUN_NS: Nanos = 1 * MILLISECOND
/**
 * 4.096 us * 2^16. A process on a busy machine may not run for a second, and its peers must not give it up:
 * with 8 attempts they wait for two. NAKs report losses in the middle of a stream much sooner.
 */
const ACK_TIMEOUT_NS: Nanos = 268_435_456
/**
 * Retransmission of the connection manager: 8 datagrams, one each 0.7 s (4.096 us * 2^17 + 2 * 4.096 us *
 * 2^14). With Linux's own values a user would wait for more than a minute for a host that does not exist.
 */
const CM_PATIENCE = { responseTimeoutExponent: 17, packetLifeTimeExponent: 14, maxCmRetries: 7 }
/** An acknowledgement costs both ends about as much as a data packet, so not every packet gets one. */
const ACK_EVERY_PACKETS = 16
/**
 * How long the loop polls for the next packet after the last one. The processes of a lab do not poll, because
 * they outnumber the cores.
 */
const SPIN_NS: Nanos = 200_000
/**
 * Lower bound on the measured T of a direct path: the time that two busy hosts need for a batch of packets
 * and its acknowledgement.
 */
const BASE_RTT_LEAST_NS: Nanos = 100_000
/**
 * Packets of one connection that may be unacknowledged. With 1 KiB each, this is more than twice what 1
 * Gbit/s has in flight in 100 ms. Memory grows with the packets in flight: 30 bytes for each at the sender,
 * and 2 KiB at the receiver for each that arrived out of order.
 */
const PACKETS_IN_FLIGHT_MAX = 32_768
/** Packets out of order that the NIC keeps for all connections. One connection may have half of them. */
const REORDER_PACKETS = 65_536
/** T is the smallest round trip within this time, which is as long as BBR's window. */
const BASE_RTT_WINDOW_NS: Nanos = 10_000_000_000
/** Shortest timeout of a probe. A process sleeps for a millisecond now and then, which is no loss. */
const PROBE_TIMEOUT_LEAST_NS: Nanos = 2_000_000
/** If a process does not run for longer, its peer retransmits one packet and uses up no retry. */
const RETRANSMIT_TIMEOUT_LEAST_NS: Nanos = 20_000_000

/** Only the connection itself can find out what path lies between two hosts. */
const DEFAULT_CC = { name: 'auto', options: {} }
const DEFAULT_START = 'careful'

export interface NicOptions {
  /** An address of this machine. On 127.0.0.1 no other machine can reach it. */
  address: string
  /**
   * UDP port of RoCEv2, 1 to 65534, default 4791. The next port receives packets with telemetry. Connections
   * use the same port of their peers, unless they name another one.
   */
  port?: number
  /** A name of IO_NAMES, default 'auto'. */
  io?: string
  /**
   * UDP source ports from which connections draw theirs, 1 to 64. Default: 16 with io 'batch', 4 with
   * 'dgram'. The other ports can send from any.
   */
  sourcePorts?: number
  /** The options were typed: messages call them as the command line does. Default false. */
  byFlags?: boolean
  /** Network interface for io 'packet'. Default: the one that has the address. */
  interface?: string
  /** Rate of this host's link, bit/s. Default: the rate that its network card reports, else 40 Gbit/s. */
  lineRateBps?: number
  /** Default auto: HPCC++ with the drafts' constants where switches write telemetry, CUBIC elsewhere. */
  cc?: { name: string; options: OptionValues }
  /**
   * True: connections name their own controllers, so telemetry without effect on `cc` is allowed. Default
   * false.
   */
  anyCc?: boolean
  /** Connections at a time, 1 to 65,534. Default 1024. */
  connections?: number
  /** Work requests of each queue of a connection. Default 128. */
  queueDepth?: number
  /**
   * Payload bytes of a full packet: 256, 512, 1024, 2048 or 4096; or 'fill': as many as fit into the packets that the interface takes,
   * towards Weir hosts that fill theirs as well, and the greatest of those numbers that fits towards others. Default 'fill'.
   */
  pathMtu?: number | 'fill'
  /** Base RTT (T) of every path, ns. Default: the smallest round trip of the last 10 s. */
  baseRttNs?: Nanos
  /**
   * Time without an acknowledgement after which packets are retransmitted, ns, rounded up to 4.096 us * 2^n.
   * After 8 such times the connection ends. Default 268 ms.
   */
  ackTimeoutNs?: Nanos
  /**
   * The receiver sends an ACK for each so many packets. The sender asks for more of them when its window is
   * small. With 1 it gets the switches' telemetry of every packet. Default 16.
   */
  ackEveryPackets?: number
  /** Retries without progress before a connection fails, 0 to 7. Default 7. */
  retryCount?: number
  /**
   * A peer that has been silent for so long, although it was asked, is gone, ns; 0 = an idle connection does not notice. Default 20 s.
   */
  keepAliveNs?: Nanos
  /** How fast a connection begins: with ten packets, or at line rate as in the papers. Default careful. */
  start?: Start
  /** What the sender retransmits after a loss. Default selective, with peers that support it. */
  recovery?: Recovery
  /** Priority of this host's packets, 0 to 7. Default 0. */
  priority?: number
  /** DSCP of each priority; io 'dgram' cannot set it. Default: 8 x the priority. */
  dscpOfPriority?: readonly number[]
  /** Priority of congestion notification packets, 0 to 7. Default: that of the packets that they answer. */
  cnpPriority?: number
  /** With a key: share of the line rate above which CNPs without a tag count, 0 to 1. Default 0: they do not. */
  untaggedCnps?: number
  /** Telemetry of data packets: its format, and the hops that may write it. Default wide, 5. */
  int?: { format: IntFormat; hops: number }
  /**
   * 'none': connections with Weir hosts that say the same carry packets without ICRC. The checksum of UDP, which sockets check, and the digests
   * of transfers find damaged bytes then; with io 'raw' and 'packet' nothing would check packets, so they refuse it. Default 'always'.
   */
  icrc?: 'always' | 'none'
  /** IP protocol number of IFA, the same in the whole network, 0 to 255. Default 253. */
  ifaProtocol?: number
  /** How telemetry is collected and returned. */
  telemetry?: Partial<TelemetrySettings>
  /** How the paths of flows are chosen, and flows admitted. */
  paths?: Partial<PathSettings>
  /**
   * Secret that all peers share, 16 to 1024 bytes. Connections without it are refused, and feedback is
   * authenticated. Default: none.
   */
  secret?: Uint8Array
  /** Polls for packets without sleeping. This gives the lowest latency and uses one core. Default false. */
  busyPoll?: boolean
  /** For labs: it announces itself to its switch, by LLDP. Default: it does not. */
  inof?: InofAnnouncement
  /** For labs: the emulated link of this host. */
  overlay?: OverlayLink
}

/** A running NIC and its parts. */
export interface OpenedNic {
  readonly address: HostAddress
  readonly udpPort: number
  readonly io: string
  readonly port: Port
  readonly pool: FramePool
  readonly nic: Nic
  readonly loop: HostLoop
  readonly reachability: Reachability
  /** Announces this host to its switch. Null: nobody does. */
  readonly inof: InofHostEnd | null
}

/** Hooks through which an application on another thread gives its work to the NIC. */
interface LoopHooks {
  /** Called as each round of the loop begins. */
  onRound?: (now: Nanos) => void
  /** Makes the waiter of the loop from the port's own waiter. */
  waiterWith?: (port: Waiter | null) => Waiter
  /** Called when a switch says that another host has arrived. */
  onArrival?: (host: HostAddress) => void
}

/** What somebody hears of a NIC's defects. */
interface DefectHooks {
  /** Called once if the NIC throws: it has stopped. */
  onStopped: (error: unknown) => void
  /** Called with each defect that has ended one connection, or dropped one datagram: the NIC goes on. Default: nobody. */
  onContained?: (error: unknown) => void
}

/**
 * Opens the port and starts the loop. Throws WEIR_BAD_ARGUMENT or WEIR_UNSUPPORTED after it closed what was open.
 */
export async function openNic(
  options: NicOptions,
  { onStopped, onContained }: DefectHooks,
  { onRound, waiterWith, onArrival }: LoopHooks = {},
): Promise<OpenedNic> {
  const address = HostAddress.parse(options.address)
  const pool = new FramePool(FRAMES, undefined, PORT_ROOM_BYTES, options.ifaProtocol)
  // What computes ICRCs takes 10 ms to load: now, and not while the first packets are timed.
  crc32ByAddress()
  const udpPort = options.port ?? 4791
  const reachability = new Reachability(options.address)
  if (options.inof !== undefined) checkInof(options.inof, options)
  const { io, port, link } = await openPort({
    ...options,
    pool,
    io: options.io ?? 'auto',
    port: udpPort,
    lldp: options.inof !== undefined,
  })
  try {
    if (options.int) checkTelemetry(options.int.format, io, address)
    const lineRateBps = options.lineRateBps ?? interfaceRateBps(options.address)
    const intake = intakeOf(port, lineRateBps)
    const given = options.telemetry ?? {}
    checkTelemetryModes({ given, telemetry: telemetrySettings(given), io })
    // An emulated link has no kernel that knows.
    const hasKernel = !options.overlay && !link
    const onConnecting = hasKernel
      ? (asked: Connecting) => reachability.watch(attemptOf(asked, loop))
      : undefined
    const parts = { address, pool, port, link, intake, onConnecting, onContained }
    const nic = createNic({ ...options, lineRateBps }, parts)
    const spinNs = options.overlay || io === 'packet' ? 0 : SPIN_NS
    const waiter = waiterWith?.(port.waiter)
    const loop: HostLoop = new HostLoop({
      node: nic,
      port,
      spinNs,
      busyPoll: options.busyPoll,
      waiter,
      intake,
      onRound,
      onError: onStopped,
    })
    const inof = options.inof === undefined ? null : announceHost(options.inof, nic, loop.now(), onArrival)
    loop.start()
    return { address, udpPort, io, port, pool, nic, loop, reachability, inof }
  } catch (error) {
    await port.close()
    throw error
  }
}

/** Stops the loop and closes the port. It does not disconnect connections: their peers learn nothing. */
export async function closeNic({ loop, port, reachability, inof }: OpenedNic): Promise<void> {
  reachability.close()
  if (inof !== null) {
    inof.leave(loop.now())
    // Nobody else would send it.
    loop.round(loop.now())
  }
  loop.close()
  await port.close()
}

function attemptOf(asked: Connecting, loop: HostLoop): ConnectAttempt {
  return {
    address: asked.remote.toString(),
    port: asked.udpPort,
    get waits() {
      return asked.waits
    },
    giveUp: why => {
      asked.giveUp(loop.now(), why)
      loop.wake()
    },
  }
}

/** The measurement of the host as the last hop. Only some ports know how many bytes wait. */
function intakeOf(port: Port, lineRateBps: number): Intake | undefined {
  return Number.isNaN(port.waitingBytes()) ? undefined : new Intake(lineRateBps, port.receiveBudgetBytes)
}

/** Names of the options of `int` that were set. */
function intNames({ int }: NicOptions): string[] {
  return Object.keys(int ?? {})
}

/** Each path has a source port of its own. Throws WEIR_BAD_ARGUMENT. */
function checkedPaths({ paths: given, sourcePorts, byFlags = false }: NicOptions): PathSettings {
  const paths = pathSettings(given)
  const { count } = paths
  if (sourcePorts === undefined || count <= sourcePorts) return paths
  const name = byFlags ? flagOf(SOURCE_PORTS) : SOURCE_PORTS.name
  const text = `paths: count is ${count}, and packets leave by ${sourcePorts} source port${sourcePorts === 1 ? '' : 's'}: set ${name} to ${count} at least, or count to ${sourcePorts}`
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}

/** What a NIC has to know of its port. */
function waysOf(port: Port) {
  const { receiveBudgetBytes, gathers, sendsRuns, takesRuns } = port
  const { seesMarks, seesHops, seesIds, choosesIds } = port
  const sourcePorts = port.sourcePorts ?? undefined
  const runs = { receiveBudgetBytes, gathers, sendsRuns, takesRuns }
  return { sourcePorts, ...runs, seesMarks, seesHops, seesIds, choosesIds }
}

interface NicParts extends Pick<OpenedNic, 'address' | 'pool' | 'port'>, Pick<OpenedPort, 'link'> {
  intake: Intake | undefined
  onConnecting: ((asked: Connecting) => void) | undefined
  onContained: DefectHooks['onContained']
}

function createNic(
  options: NicOptions & { lineRateBps: number },
  { address, pool, port, link, intake, onConnecting, onContained }: NicParts,
): Nic {
  const { cc = DEFAULT_CC, start = DEFAULT_START, lineRateBps, pathMtu: asked = 'fill' } = options
  const pathMtu = asked === 'fill' ? pathMtuFor(port.mtu) : asked
  checkController(cc, lineRateBps, pathMtu)
  const { telemetry = {} } = options
  const settings = telemetrySettings(telemetry)
  const paths = checkedPaths(options)
  if (options.anyCc !== true)
    checkModes({
      given: telemetry,
      telemetry: settings,
      int: intNames(options),
      paths,
      cc,
      start,
      transport: { untaggedCnps: options.untaggedCnps },
    })
  return new Nic({
    address,
    udpPort: options.port,
    onConnecting,
    reachesOtherPorts: !options.overlay && !link,
    pool,
    random: systemRandom(),
    lineRateBps,
    pathMtu,
    withoutIcrc: options.icrc === 'none',
    carriesAcks: true,
    packetBytesMax: asked === 'fill' ? port.mtu : 0,
    cc,
    start,
    baseRttNs: options.baseRttNs,
    baseRttLeastNs: options.overlay || link ? 0 : BASE_RTT_LEAST_NS,
    baseRttWindowNs: BASE_RTT_WINDOW_NS,
    packetsInFlightMax: PACKETS_IN_FLIGHT_MAX,
    reorderPackets: REORDER_PACKETS,
    ackTimeoutNs: options.ackTimeoutNs ?? ACK_TIMEOUT_NS,
    probeTimeoutLeastNs: PROBE_TIMEOUT_LEAST_NS,
    retransmitTimeoutLeastNs: RETRANSMIT_TIMEOUT_LEAST_NS,
    ackEveryPackets: options.ackEveryPackets ?? ACK_EVERY_PACKETS,
    retryCount: options.retryCount,
    keepAliveNs: options.keepAliveNs ?? KEEP_ALIVE.default,
    recovery: options.recovery,
    connectionsMax: options.connections,
    queueDepth: options.queueDepth,
    priority: options.priority,
    dscpOfPriority: options.dscpOfPriority,
    cnpPriority: options.cnpPriority,
    untaggedCnps: options.untaggedCnps,
    int: options.int,
    // A caller that gives the number of hops has chosen the length of telemetry.
    intHopsMax: options.int === undefined ? hopsFor(port.mtu, pathMtu) : 1,
    telemetry: options.telemetry,
    paths: options.paths,
    failover: options.inof?.failover,
    secret: options.secret,
    ...link,
    ...waysOf(port),
    hostIntake: intake,
    defects: 'end',
    onDefect: onContained,
    slackNs: SLACK_NS,
    pacingRunNs: PACING_RUN_NS,
    runPackets: RUN_PACKETS_MAX,
    cm: CM_PATIENCE,
  })
}
