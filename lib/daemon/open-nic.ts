/** A NIC on a port, driven in real time: what every host has, whatever runs on it. */

import { checkModes } from '../cc/mode-conflicts.js'
import type { OptionValues } from '../cc/options.js'
import { type PathSettings, pathSettings } from '../cc/path-settings.js'
import { type TelemetrySettings, telemetrySettings } from '../cc/telemetry-settings.js'
import { WeirError } from '../errors.js'
import { FramePool } from '../frame/frame-pool.js'
import { interfaceRateBps } from '../io/interfaces/interface.js'
import { HostLoop } from '../io/loop/host-loop.js'
import { Intake } from '../io/loop/intake.js'
import type { Port } from '../io/port.js'
import { type ConnectAttempt, Reachability } from '../io/ports/reachability.js'
import type { Waiter } from '../io/waiter.js'
import type { Recovery, Start } from '../nic/config.js'
import { Nic } from '../nic/nic.js'
import type { Connecting } from '../nic/types.js'
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import { HostAddress } from '../wire/net/address.js'
import type { IntFormat } from '../wire/telemetry/telemetry.js'
import { checkController } from './check-controller.js'
import { checkTelemetry } from './check-telemetry.js'
import {
  hopsFor,
  type OpenedPort,
  type OverlayLink,
  openPort,
  PORT_ROOM_BYTES,
  pathMtuFor,
} from './open-port.js'
import { systemRandom } from './random.js'

/** Frames that may be on their way in and out at a time: 19 MB when all have been used. */
const FRAMES = 4096
/** Lateness of the event loop that pacing makes up for. */
const SLACK_NS: Nanos = 1 * MILLISECOND
/**
 * Packets that leave together take up to so much time at the flow's rate, as the kernel's TCP has it: each run wakes this process, every
 * switch and the peer once, where single packets would wake them as often as they are many.
 */
const PACING_RUN_NS: Nanos = 1 * MILLISECOND
/**
 * 4.096 us * 2^16. On a busy machine a process may not run for a second, and its peers must not take it for dead:
 * with 8 attempts they wait for two. NAKs find losses in the middle of a stream long before that.
 */
const ACK_TIMEOUT_NS: Nanos = 268_435_456
/**
 * The connection manager's patience: 8 datagrams, one each 0.7 s (4.096 us * 2^17 + 2 * 4.096 us * 2^14).
 * Linux's own values would have a user wait for more than a minute for a host that is not there.
 */
const CM_PATIENCE = { responseTimeoutExponent: 17, packetLifeTimeExponent: 14, maxCmRetries: 7 }
/** An acknowledgement costs both ends about as much as a data packet. */
const ACK_EVERY_PACKETS = 16
/**
 * How long the loop stays awake for the next packet after one came; a lab's many processes have no core to spend on
 * that.
 */
const SPIN_NS: Nanos = 200_000
/**
 * Lower bound on the measured T of a direct path: two busy hosts take so long for a batch of packets and its
 * acknowledgement.
 */
const BASE_RTT_LEAST_NS: Nanos = 100_000
/**
 * Packets of one connection that may be unacknowledged: of 1 KiB, more than twice what 1 Gbit/s has under way in 100 ms. What is kept of each grows
 * with what is in flight: 30 bytes a packet at the sender, and at the receiver 2 KiB for each that came out of order.
 */
const PACKETS_IN_FLIGHT_MAX = 32_768
/** Packets out of order that are kept, of all connections; one keeps half. */
const REORDER_PACKETS = 65_536
/** T is the smallest round trip of the last so many: as long as BBR's. */
const BASE_RTT_WINDOW_NS: Nanos = 10_000_000_000
/** Shortest silence that counts: a process is put to sleep for a millisecond now and then. */
const PROBE_TIMEOUT_LEAST_NS: Nanos = 2_000_000
/** A process that does not run for longer costs its peer one packet, and no retry. */
const RETRANSMIT_TIMEOUT_LEAST_NS: Nanos = 20_000_000

/** Nobody knows what lies between two hosts: a connection finds out. */
const DEFAULT_CC = { name: 'auto', options: {} }
const DEFAULT_START = 'careful'

export interface NicOptions {
  /** An address of this machine; nobody else can reach 127.0.0.1. */
  address: string
  /** UDP port of RoCEv2, 1 to 65534, default 4791; packets with telemetry come to the next one. Peers are reached by it too, unless a connection names another. */
  port?: number
  /** A name of IO_NAMES, default 'auto'. */
  io?: string
  /** UDP source ports that connections draw from, 1 to 64. Default: 16 of io 'batch', 4 of 'dgram'; others send from any. */
  sourcePorts?: number
  /** Network interface for io 'packet'. Default: the one that has the address. */
  interface?: string
  /** Rate of this host's link, bit/s. Default: what its network card says, else 40 Gbit/s. */
  lineRateBps?: number
  /** Default auto: HPCC++ with the drafts' constants where switches write telemetry, CUBIC elsewhere. */
  cc?: { name: string; options: OptionValues }
  /** Connections name their own controllers: telemetry need have no effect with `cc`. Default false. */
  anyCc?: boolean
  /** Work requests of each queue of a connection. Default 128. */
  queueDepth?: number
  /** Payload bytes of a packet. Default: the greatest that fits the interface. */
  pathMtu?: number
  /** T of every path. Default: the smallest round trip of the last 10 s. */
  baseRttNs?: Nanos
  /**
   * Silence after which packets are retransmitted, rounded up to 4.096 us * 2^n; 8 of them end a connection.
   * Default 268 ms.
   */
  ackTimeoutNs?: Nanos
  /**
   * One ACK per so many packets. Default 16; the sender asks for more of them when its window is small. With
   * telemetry of switches on the path, 1 returns that of every packet.
   */
  ackEveryPackets?: number
  /** Retries without progress before a connection fails, 0 to 7. Default 7. */
  retryCount?: number
  /** How connections begin: with ten packets, or at line rate as in the papers. Default careful. */
  start?: Start
  /** What is retransmitted after a loss. Default selective, with peers that do so too. */
  recovery?: Recovery
  /** Priority of this host's packets, 0 to 7. Default 0. */
  priority?: number
  /** DSCP of each priority; it is seen on the wire of io 'packet' and in labs. Default: 8 x the priority. */
  dscpOfPriority?: readonly number[]
  /** Telemetry of data packets, and for how many hops. Default wide, 5. */
  int?: { format: IntFormat; hops: number }
  /** IP protocol of IFA, the same in the whole network, 0 to 255. Default 253. */
  ifaProtocol?: number
  /** How telemetry is collected and brought back. */
  telemetry?: Partial<TelemetrySettings>
  /** How the paths of flows are chosen, and flows admitted. */
  paths?: Partial<PathSettings>
  /** Shared with all peers, 16 to 1024 bytes: others are refused, and feedback is authenticated. Default: none. */
  secret?: Uint8Array
  /** Looks for packets without ever sleeping: lowest latency, one whole core. Default false. */
  busyPoll?: boolean
  /** For labs: this host's link is emulated. */
  overlay?: OverlayLink
}

/** A NIC that runs, and what it is made of. */
export interface OpenedNic {
  readonly address: HostAddress
  readonly udpPort: number
  readonly io: string
  readonly port: Port
  readonly pool: FramePool
  readonly nic: Nic
  readonly loop: HostLoop
  readonly reachability: Reachability
}

/** For an application on another thread: how its work gets to the NIC. */
export interface LoopHooks {
  /** Called as each round of the loop begins. */
  onRound?: (now: Nanos) => void
  /** What the loop waits with, made of the port's own waiter. */
  waiterWith?: (port: Waiter | null) => Waiter
}

/**
 * Opens the port and starts the loop. Throws WEIR_BAD_ARGUMENT or WEIR_UNSUPPORTED; what was open by then is closed again.
 * @param onDefect called once if the NIC throws: it has stopped
 */
export async function openNic(
  options: NicOptions,
  onDefect: (error: unknown) => void,
  { onRound, waiterWith }: LoopHooks = {},
): Promise<OpenedNic> {
  const address = HostAddress.parse(options.address)
  const pool = new FramePool(FRAMES, undefined, PORT_ROOM_BYTES, options.ifaProtocol)
  const udpPort = options.port ?? 4791
  const reachability = new Reachability(options.address)
  const { io, port, link } = await openPort({ ...options, pool, io: options.io ?? 'auto', port: udpPort })
  try {
    if (options.int) checkTelemetry(options.int.format, io, address)
    const lineRateBps = options.lineRateBps ?? interfaceRateBps(options.address)
    const intake = intakeOf(port, lineRateBps)
    if (!intake && options.telemetry?.hostHop) throw noHostHop(io)
    // An emulated link has no kernel that knows.
    const hasKernel = !options.overlay && !link
    const onConnecting = hasKernel
      ? (asked: Connecting) => reachability.watch(attemptOf(asked, loop))
      : undefined
    const nic = createNic({ ...options, lineRateBps }, { address, pool, port, link, intake, onConnecting })
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
      onError: onDefect,
    })
    loop.start()
    return { address, udpPort, io, port, pool, nic, loop, reachability }
  } catch (error) {
    await port.close()
    throw error
  }
}

/** Stops the loop and closes the port; the peers of its connections learn nothing of it. */
export async function closeNic({ loop, port, reachability }: OpenedNic): Promise<void> {
  reachability.close()
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

/** What measures the host as the last hop, where the port knows how much waits. */
function intakeOf(port: Port, lineRateBps: number): Intake | undefined {
  return Number.isNaN(port.waitingBytes()) ? undefined : new Intake(lineRateBps, port.receiveBudgetBytes)
}

function noHostHop(io: string): WeirError {
  const text = `telemetry hostHop=true has no effect with io "${io}", which does not tell how much waits for this host: leave it out, or use io "batch"`
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}

interface NicParts extends Pick<OpenedNic, 'address' | 'pool' | 'port'>, Pick<OpenedPort, 'link'> {
  intake: Intake | undefined
  onConnecting: ((asked: Connecting) => void) | undefined
}

function createNic(
  options: NicOptions & { lineRateBps: number },
  { address, pool, port, link, intake, onConnecting }: NicParts,
): Nic {
  const { cc = DEFAULT_CC, start = DEFAULT_START, lineRateBps, pathMtu = pathMtuFor(port.mtu) } = options
  checkController(cc, lineRateBps, pathMtu)
  const { telemetry = {} } = options
  const settings = telemetrySettings(telemetry)
  if (options.anyCc !== true)
    checkModes({ telemetry, settings, paths: pathSettings(options.paths), cc, start })
  return new Nic({
    address,
    udpPort: options.port,
    onConnecting,
    reachesOtherPorts: !options.overlay && !link,
    pool,
    random: systemRandom(),
    lineRateBps,
    pathMtu,
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
    recovery: options.recovery,
    queueDepth: options.queueDepth,
    priority: options.priority,
    dscpOfPriority: options.dscpOfPriority,
    int: options.int,
    // Whoever says how many hops has chosen what packets carry.
    intHopsMax: options.int === undefined ? hopsFor(port.mtu, pathMtu) : 1,
    telemetry: options.telemetry,
    paths: options.paths,
    secret: options.secret,
    ...link,
    sourcePorts: port.sourcePorts ?? undefined,
    receiveBudgetBytes: port.receiveBudgetBytes,
    hostIntake: intake,
    gathers: port.gathers,
    takesRuns: port.takesRuns,
    seesMarks: port.seesMarks,
    seesHops: port.seesHops,
    defects: 'end',
    slackNs: SLACK_NS,
    pacingRunNs: PACING_RUN_NS,
    cm: CM_PATIENCE,
  })
}
