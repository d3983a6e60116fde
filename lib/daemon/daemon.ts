/**
 * A host's daemon: the NIC on a port, driven in real time; the control plane; the transfers. `start` brings
 * it up whole or not at all, `close` takes it down in order.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OptionValues } from '../cc/options.js'
import type { TelemetrySettings } from '../cc/telemetry-settings.js'
import { ControlServer } from '../control/server.js'
import { FramePool } from '../frame/frame-pool.js'
import { HostLoop } from '../io/host-loop.js'
import { interfaceRateBps } from '../io/interface.js'
import type { Port } from '../io/port.js'
import type { Logger } from '../log.js'
import type { Recovery } from '../nic/config.js'
import { Nic } from '../nic/nic.js'
import type { PerfServer } from '../perf/server.js'
import { protoFolder } from '../proto/proto.js'
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import { Arrivals } from '../transfer/arrivals.js'
import { Inbox } from '../transfer/inbox.js'
import { TransferService } from '../transfer/service.js'
import { Share } from '../transfer/share.js'
import { sweepPartials } from '../transfer/sweep.js'
import { HostAddress } from '../wire/address.js'
import type { IntFormat } from '../wire/telemetry.js'
import { checkController } from './check-controller.js'
import { checkTelemetry } from './check-telemetry.js'
import { registerTransferHandlers } from './handlers.js'
import { type OpenedPort, type OverlayLink, openPort, PORT_ROOM_BYTES, pathMtuFor } from './open-port.js'
import { registerPerfHandler } from './perf.js'
import { systemRandom } from './random.js'
import { registerTrafficHandler } from './traffic.js'

/** Frames that may be on their way in and out at a time: 19 MB when all have been used. */
const FRAMES = 4096
/** Lateness of the event loop that pacing makes good. */
const SLACK_NS: Nanos = 1 * MILLISECOND
/**
 * 4.096 us * 2^16. A process on a busy machine may not run for a second, and its peers must not take it for
 * dead: with 8 attempts they wait for two. Losses in the middle of a stream are found by NAKs, long before.
 */
const ACK_TIMEOUT_NS: Nanos = 268_435_456
/**
 * The connection manager's patience: 8 datagrams, one each 0.7 s (4.096 us * 2^17 + 2 * 4.096 us * 2^14).
 * Linux's own values would have a user wait for more than a minute for a host that is not there.
 */
const CM_PATIENCE = { responseTimeoutExponent: 17, packetLifeTimeExponent: 14, maxCmRetries: 7 }
/** An acknowledgement costs both ends about as much as a data packet. */
const ACK_EVERY_PACKETS = 16
/** For so long after a packet the loop stays awake for the next one; a lab's many processes have no core to spend. */
const SPIN_NS: Nanos = 200_000
/** What is left of a transfer that nobody has gone on with for 7 days is removed when a daemon starts. */
const PARTIALS_KEPT_MS = 7 * 24 * 3600 * 1000
/** Of a direct path: what two busy hosts were seen to take for a batch of packets and its acknowledgement. */
const BASE_RTT_LEAST_NS: Nanos = 100_000
/** How long transfers get to end when the daemon is stopped. */
const GRACE_MS = 2000

export interface DaemonOptions {
  /** An address of this machine; nobody else can reach 127.0.0.1. */
  address: string
  /** UDP port of RoCEv2, default 4791; INT goes to the next one. */
  port?: number
  /** Folder that receives files. */
  inbox: string
  /** Folder whose files other hosts may get. Default: they may get none. */
  share?: string
  /** Path of the control socket. */
  socketPath: string
  log: Logger
  /** A name of IO_NAMES, default 'auto'. */
  io?: string
  /** UDP source ports that connections draw from, 1 to 64. Default: 16 of io 'batch', 4 of 'dgram'; others send from any. */
  sourcePorts?: number
  /** Of io 'packet': the network interface. Default: that which has the address. */
  interface?: string
  /** Of this host's link. Default: what its network card says, else 40 Gbit/s. */
  lineRateBps?: number
  /** Default hpcc with the drafts' constants. */
  cc?: { name: string; options: OptionValues }
  /** Payload bytes of a packet. Default: the greatest that fits the interface. */
  pathMtu?: number
  /** T of every path; default: measured at connect. */
  baseRttNs?: Nanos
  /**
   * Silence after which packets are sent again, rounded up to 4.096 us * 2^n; 8 of them end a connection.
   * Default 268 ms.
   */
  ackTimeoutNs?: Nanos
  /**
   * One ACK per so many packets. Default 16; the sender asks for more of them when its window is small. With
   * telemetry of switches on the path, 1 tells the sender of every packet's.
   */
  ackEveryPackets?: number
  /** Tries without progress before a connection fails, 0 to 7. Default 7. */
  retryCount?: number
  /** What is sent again after a loss. Default selective, with peers that do so too. */
  recovery?: Recovery
  /** Priority of this host's packets, 0 to 7. Default 0. */
  priority?: number
  /** DSCP of each priority; it is seen on the wire of io 'packet' and in labs. Default: 8 x the priority. */
  dscpOfPriority?: readonly number[]
  /** Telemetry of data packets, and for how many hops. Default wide, 5. */
  int?: { format: IntFormat; hops: number }
  /** How telemetry is collected and brought back. */
  telemetry?: Partial<TelemetrySettings>
  /** Shared with all peers, 16 to 1024 bytes: others are refused, and feedback is authenticated. Default: none. */
  secret?: Uint8Array
  /** Bytes of a chunk of a transfer. Default 1 MiB. */
  chunkBytes?: number
  /** False: other hosts may not measure against this one. Default true. */
  perf?: boolean
  /** For labs: this host's link is emulated. */
  overlay?: OverlayLink
}

/** A daemon's settings with defaults filled in, and what it is made of. */
export interface DaemonParts {
  readonly address: HostAddress
  readonly udpPort: number
  readonly io: string
  readonly port: Port
  readonly pool: FramePool
  readonly nic: Nic
  readonly loop: HostLoop
  readonly control: ControlServer
  readonly transfers: TransferService
  readonly inbox: Inbox
  readonly share: Share | null
  readonly log: Logger
}

export class Daemon {
  readonly parts: DaemonParts
  readonly version = packageVersion()
  readonly startedMs = Date.now()
  /** Resolves when the daemon is down, whoever stopped it. */
  readonly closed: Promise<void>
  #resolveClosed: () => void = () => {}
  #closing = false
  readonly #perf: PerfServer
  /** The defect that stopped the NIC, when one did. */
  failure: unknown = null

  /** Throws WEIR_BAD_ARGUMENT, WEIR_BAD_STATE or WEIR_NO_FILE; what was open by then is closed again. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const address = HostAddress.parse(options.address)
    const arrivals = new Arrivals()
    const inbox = await Inbox.at(options.inbox, arrivals)
    const share = options.share === undefined ? null : await Share.at(options.share)
    const removed = await sweepPartials(inbox.folder, Date.now() - PARTIALS_KEPT_MS)
    if (removed > 0) options.log.info({ removed, inbox: inbox.folder }, 'old unfinished files were removed')
    const pool = new FramePool(FRAMES, undefined, PORT_ROOM_BYTES)
    const udpPort = options.port ?? 4791
    const { io, port, link } = await openPort({ ...options, pool, io: options.io ?? 'auto', port: udpPort })
    let loop: HostLoop | null = null
    try {
      if (options.int) checkTelemetry(options.int.format, io, address)
      const nic = createNic(options, address, pool, port, link)
      let onDefect = (_error: unknown) => {}
      const parts = { address, udpPort, io, port, pool, nic, inbox, share, arrivals }
      const daemon = new Daemon(
        assemble(options, parts, error => onDefect(error)),
        options.perf ?? true,
      )
      onDefect = error => daemon.#onDefect(error)
      loop = daemon.parts.loop
      loop.start()
      daemon.parts.transfers.start()
      await daemon.parts.control.listen()
      return daemon
    } catch (error) {
      loop?.close()
      await port.close()
      throw error
    }
  }

  private constructor(parts: DaemonParts, servesPerf: boolean) {
    this.parts = parts
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    registerTransferHandlers(this)
    registerTrafficHandler(this)
    this.#perf = registerPerfHandler(this, servesPerf)
  }

  #onDefect(error: unknown): void {
    this.parts.log.fatal({ err: error }, 'the NIC has stopped by a defect')
    this.failure = error
    void this.close()
  }

  /**
   * Ends the transfers at both ends, removes the control socket, closes the port. Harmless when called again.
   */
  async close(): Promise<void> {
    if (this.#closing) return await this.closed
    this.#closing = true
    const { transfers, control, loop, port, log } = this.parts
    this.#perf.close(loop.now())
    loop.wake()
    await transfers.close(GRACE_MS)
    await control.close()
    loop.close()
    await port.close()
    log.info('stopped')
    this.#resolveClosed()
  }
}

function createNic(
  options: DaemonOptions,
  address: HostAddress,
  pool: FramePool,
  port: Port,
  link: OpenedPort['link'],
): Nic {
  const { cc, lineRateBps = interfaceRateBps(options.address), pathMtu = pathMtuFor(port.mtu) } = options
  if (cc) checkController(cc, lineRateBps, pathMtu)
  return new Nic({
    address,
    pool,
    random: systemRandom(),
    lineRateBps,
    pathMtu,
    cc,
    baseRttNs: options.baseRttNs,
    baseRttLeastNs: options.overlay || link ? 0 : BASE_RTT_LEAST_NS,
    ackTimeoutNs: options.ackTimeoutNs ?? ACK_TIMEOUT_NS,
    ackEveryPackets: options.ackEveryPackets ?? ACK_EVERY_PACKETS,
    retryCount: options.retryCount,
    recovery: options.recovery,
    priority: options.priority,
    dscpOfPriority: options.dscpOfPriority,
    int: options.int,
    telemetry: options.telemetry,
    secret: options.secret,
    ...link,
    sourcePorts: port.sourcePorts ?? undefined,
    receiveBudgetBytes: port.receiveBudgetBytes,
    gathers: port.gathers,
    slackNs: SLACK_NS,
    cm: CM_PATIENCE,
  })
}

function assemble(
  options: DaemonOptions,
  made: Omit<DaemonParts, 'loop' | 'control' | 'transfers' | 'log'> & { arrivals: Arrivals },
  onDefect: (error: unknown) => void,
): DaemonParts {
  const { log } = options
  const spinNs = options.overlay || made.io === 'packet' ? 0 : SPIN_NS
  const loop = new HostLoop({ node: made.nic, port: made.port, spinNs, onError: onDefect })
  const control = new ControlServer(options.socketPath, {
    onMalformed: error => log.warn({ err: error }, 'a client of the control socket was dropped'),
    onDefect: error => log.error({ err: error }, 'a request failed by a defect'),
  })
  const transfers = new TransferService({
    verbs: made.nic,
    time: loop,
    store: made.inbox,
    arrivals: made.arrivals,
    log,
    ...(made.share ? { share: made.share } : {}),
    ...(options.chunkBytes === undefined ? {} : { chunkBytes: options.chunkBytes }),
  })
  return { ...made, loop, control, transfers, log }
}

/** Version of the installed package. */
export function packageVersion(): string {
  const text = readFileSync(join(dirname(protoFolder()), 'package.json'), 'utf8')
  return String((JSON.parse(text) as { version?: string }).version ?? 'unknown')
}
