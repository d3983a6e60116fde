import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { ccNames } from '../../lib/cc/catalogue.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { parsePathSettings } from '../../lib/cc/path-settings.js'
import { parseTelemetrySettings, type TelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { defaultSocketPath } from '../../lib/control/socket-path.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { IO_NAMES } from '../../lib/daemon/io-names.js'
import { readKeyFile } from '../../lib/daemon/key-file.js'
import type { OverlayLink } from '../../lib/daemon/open-port.js'
import { tuneGarbageCollection } from '../../lib/daemon/tune-gc.js'
import { onEndSignal } from '../../lib/end-signals.js'
import { WeirError } from '../../lib/errors.js'
import { createLog, LOG_LEVELS } from '../../lib/log.js'
import { RECOVERIES, type Recovery, STARTS, type Start } from '../../lib/nic/config.js'
import { parseBytes, parseDuration, parseRate } from '../../lib/units/units.js'
import { FORMAT_NAMES, type IntFormat } from '../../lib/wire/telemetry/telemetry.js'
import { addCongestionFlags } from './congestion-flags.js'
import { commandOf } from './names.js'
import { pathMtu, quantity, whole } from './option-values.js'

interface DaemonFlags {
  address: string
  port: string
  inbox: string
  share?: string
  socket: string
  io: string
  interface?: string
  sourcePorts?: string
  lineRate?: string
  cc: string
  ccOption?: string[]
  mtu?: string
  baseRtt?: string
  ackTimeout: string
  ackEvery: string
  retryCount: string
  recovery: Recovery
  start: Start
  priority: string
  dscpOfPriority?: string
  int?: string
  ifaProtocol: string
  telemetry?: string[]
  paths?: string[]
  keyFile?: string
  chunk: string
  hostHop: boolean
  perf: boolean
  worker: boolean
  busyPoll?: boolean
  logLevel: string
  overlay?: string
  anyCc?: boolean
  untilStdinEnds?: boolean
}

/** How long a daemon that is down may take to end by itself. */
const LINGER_MS = 1000

/** `weir daemon` */
export function daemonCommand(): Command {
  return addCongestionFlags(optionsOfDaemon()).action(runDaemon)
}

function optionsOfDaemon(): Command {
  return withProcess(withFormats(withConnections(withPlaces(commandOf('daemon')))))
}

/** Where it listens, keeps files and takes packets. */
function withPlaces(command: Command): Command {
  return command
    .option('--address <address>', 'address to listen on; no other host can reach the default', '127.0.0.1')
    .option('--port <port>', 'UDP port of RoCEv2; packets with telemetry use the next one', '4791')
    .option(
      '--inbox <dir>',
      'folder for received files; at its start the daemon removes unfinished ones that are 7 days old',
      defaultInbox(),
    )
    .option('--share <dir>', 'folder whose files every host that reaches the address may get (default: none)')
    .option('--socket <path>', 'control socket', defaultSocketPath())
    .addOption(
      new Option('--io <name>', 'how packets are sent and received')
        .choices(IO_NAMES)
        .default('auto')
        .env('WEIR_IO'),
    )
    .option('--interface <name>', 'network interface of --io packet (default: the one that has the address)')
    .option(
      '--source-ports <count>',
      'UDP source ports of all connections, 1 to 64; networks choose paths by them ' +
        '(default: 16 with --io batch, 4 with dgram; others use any)',
    )
}

/** How its connections behave. */
function withConnections(command: Command): Command {
  return command
    .option(
      '--line-rate <rate>',
      "rate of this host's link, as in 10Gbps (default: what the network card reports)",
    )
    .addOption(
      new Option('--cc <name>', 'congestion control; auto: HPCC++ where switches write telemetry, else CUBIC')
        .choices(ccNames())
        .default('auto'),
    )
    .addOption(
      new Option(
        '--start <name>',
        'how connections begin: with ten packets, or at line rate as in the papers',
      )
        .choices(STARTS)
        .default('careful'),
    )
    .option(
      '--mtu <bytes>',
      'payload of a packet: 256, 512, 1024, 2048 or 4096 (default: what fits the interface)',
    )
    .option(
      '--base-rtt <time>',
      'round-trip time of the idle path, as in 50us (default: the smallest of the last 10 s)',
    )
    .option('--ack-timeout <time>', 'silence after which packets are retransmitted', '268ms')
    .option(
      '--retry-count <count>',
      'consecutive timeouts or NAKs without progress before a connection fails, 0 to 7',
      '7',
    )
    .addOption(
      new Option(
        '--recovery <name>',
        'what is retransmitted after a loss: lost packets alone, if the peer agrees, or everything from the loss on',
      )
        .choices(RECOVERIES)
        .default('selective'),
    )
    .option('--ack-every <packets>', 'packets per acknowledgement, 1 to 256', '16')
    .option('--priority <number>', "priority of this host's packets, 0 to 7: it chooses their DSCP", '0')
    .option('--dscp-of-priority <list>', 'the DSCPs of priorities 0 to 7 (default: 0,8,16,24,32,40,48,56)')
}

/** What its packets collect, and what proves them. */
function withFormats(command: Command): Command {
  return command
    .option(
      '--int <format:hops>',
      `format of telemetry in data packets, and its hops, 1 to 15; formats: ${FORMAT_NAMES.join(', ')} (default: wide:5, and more hops to peers where there turned out to be more)`,
    )
    .option(
      '--ifa-protocol <number>',
      'IP protocol of IFA in this network, 0 to 255, none of another use here',
      '253',
    )
    .option(
      '--key-file <path>',
      'file of mode 0600 with a secret of 16 to 1024 bytes, the same on all hosts: hosts refuse connections without it ' +
        'and authenticate feedback (HPCC++ draft-02, security considerations; default: none)',
    )
    .option(
      '--no-host-hop',
      'do not report this host as the last hop, so senders are not held to what it can take in (as --telemetry hostHop=false)',
    )
}

/** What it does for other hosts, and what it takes from this one. */
function withProcess(command: Command): Command {
  return command
    .option('--chunk <bytes>', 'unit of a transfer; each end holds 8 of them in memory', '1MiB')
    .option('--no-perf', 'refuse measurements by other hosts (weir perf)')
    .option('--busy-poll', 'poll for packets without sleeping: lowest latency, a whole core')
    .option('--no-worker', 'send and receive on the thread of the control socket, not on one of its own')
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged').choices(LOG_LEVELS).default('info'),
    )
    .addOption(new Option('--overlay <link>', 'vni=N,local=ADDRESS:PORT,peer=ADDRESS:PORT').hideHelp())
    .addOption(new Option('--any-cc', 'telemetry is for connections that name their own --cc').hideHelp())
    .addOption(new Option('--until-stdin-ends', 'stop when standard input ends').hideHelp())
}

async function runDaemon(flags: DaemonFlags): Promise<void> {
  tuneGarbageCollection()
  const log = createLog(flags.logLevel, 'weir')
  const daemon = await Daemon.start({
    address: flags.address,
    port: whole('--port', flags.port, 1, 65_534),
    inbox: flags.inbox,
    share: flags.share,
    socketPath: flags.socket,
    io: flags.io,
    interface: flags.interface,
    sourcePorts:
      flags.sourcePorts === undefined ? undefined : whole('--source-ports', flags.sourcePorts, 1, 64),
    lineRateBps:
      flags.lineRate === undefined ? undefined : quantity('--line-rate', flags.lineRate, parseRate),
    cc: { name: flags.cc, options: parseCcOptions(flags.cc, flags.ccOption ?? []) },
    pathMtu: flags.mtu === undefined ? undefined : pathMtu(flags.mtu),
    baseRttNs: flags.baseRtt === undefined ? undefined : quantity('--base-rtt', flags.baseRtt, parseDuration),
    ackTimeoutNs: quantity('--ack-timeout', flags.ackTimeout, parseDuration),
    ackEveryPackets: whole('--ack-every', flags.ackEvery, 1, 256),
    retryCount: whole('--retry-count', flags.retryCount, 0, 7),
    recovery: flags.recovery,
    start: flags.start,
    priority: whole('--priority', flags.priority, 0, 7),
    dscpOfPriority: flags.dscpOfPriority === undefined ? undefined : parseDscps(flags.dscpOfPriority),
    int: flags.int === undefined ? undefined : parseTelemetry(flags.int),
    ifaProtocol: whole('--ifa-protocol', flags.ifaProtocol, 0, 255),
    telemetry: telemetryOf(flags),
    anyCc: flags.anyCc,
    paths: parsePathSettings(flags.paths ?? []),
    secret: flags.keyFile === undefined ? undefined : readKeyFile(flags.keyFile),
    chunkBytes: quantity('--chunk', flags.chunk, parseBytes),
    perf: flags.perf,
    busyPoll: flags.busyPoll,
    worker: flags.worker,
    overlay: flags.overlay === undefined ? undefined : parseOverlay(flags.overlay),
    log,
  })
  const stop = (why: string) => {
    log.info({ why }, 'stopping')
    void daemon.close()
  }
  const unlisten = onEndSignal(signal => {
    unlisten()
    stop(signal)
  })
  if (flags.untilStdinEnds) process.stdin.resume().once('close', () => stop('standard input ended'))
  const { share, ...about } = daemon.about
  log.info({ ...about, ...(share && { share }), socket: flags.socket }, 'ready')
  await daemon.closed
  process.stdin.pause()
  // Everything is closed. Should something still wait for an event that can no longer come, it waits in vain.
  setTimeout(() => process.exit(), LINGER_MS).unref()
  if (daemon.failure) throw daemon.failure
}

/** `$XDG_DATA_HOME/weir/inbox`, by default in ~/.local/share. */
export function defaultInbox(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'weir', 'inbox')
}

function telemetryOf({ telemetry = [], hostHop }: DaemonFlags): Partial<TelemetrySettings> {
  const given = parseTelemetrySettings(telemetry)
  if (hostHop) return given
  if (given.hostHop === true) {
    const text = '--no-host-hop and --telemetry hostHop=true contradict each other: leave one of them out'
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  return { ...given, hostHop: false }
}

/** Throws WEIR_BAD_ARGUMENT. */
export function parseOverlay(text: string): OverlayLink {
  const parts = new Map(text.split(',').map(part => part.split('=', 2) as [string, string]))
  return {
    vni: whole('--overlay vni', parts.get('vni') ?? '', 0, 0xffffff),
    local: endpoint('local', parts.get('local')),
    peer: endpoint('peer', parts.get('peer')),
  }
}

function endpoint(name: string, text = ''): { address: string; port: number } {
  const colon = text.lastIndexOf(':')
  if (colon < 1)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--overlay ${name}: ADDRESS:PORT is expected, not "${text}"`)
  const address = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { address, port: whole(`--overlay ${name}`, text.slice(colon + 1), 0, 65_535) }
}

function parseDscps(text: string): number[] {
  const dscps = text.split(',').map(part => whole('--dscp-of-priority', part, 0, 63))
  if (dscps.length === 8) return dscps
  throw new WeirError('WEIR_BAD_ARGUMENT', `--dscp-of-priority is a list of 8 DSCPs, not "${text}"`)
}

/** Reads `--int`: `wide:5`. Throws WEIR_BAD_ARGUMENT. */
export function parseTelemetry(text: string): { format: IntFormat; hops: number } {
  const [, name, hops] = /^([a-z0-9-]+):(\d{1,2})$/.exec(text) ?? []
  const format = FORMAT_NAMES.find(known => known === name)
  if (format === undefined || Number(hops) < 1 || Number(hops) > 15) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `--int is FORMAT:HOPS with 1 to 15 hops, FORMAT one of ${FORMAT_NAMES.join(', ')}, not ${text}`,
    )
  }
  return { format, hops: Number(hops) }
}
