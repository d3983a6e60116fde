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
import { MOST } from '../../lib/options/option.js'
import { TRANSPORT_OPTIONS, type TransportOptions } from '../../lib/qp/transport-options.js'
import { FORMAT_NAMES, type IntFormat } from '../../lib/wire/telemetry/telemetry.js'
import { addCongestionFlags } from './congestion-flags.js'
import { commandOf } from './names.js'
import { whole } from './option-values.js'
import { addValueOptions, type CommandOption, commandOptions, valuesOf } from './value-options.js'

/** The flags that are not in `OPTIONS` and not of the transport. */
interface DaemonFlags {
  address: string
  inbox: string
  share?: string
  socket: string
  interface?: string
  cc: string
  ccOption?: string[]
  dscpOfPriority?: string
  int?: string
  telemetry?: string[]
  paths?: string[]
  keyFile?: string
  hostHop: boolean
  perf: boolean
  worker: boolean
  busyPoll?: boolean
  logLevel: string
  overlay?: string
  anyCc?: boolean
  untilStdinEnds?: boolean
}

const OPTIONS = [
  {
    name: 'port',
    kind: 'count',
    min: 1,
    max: 65_534,
    default: 4791,
    doc: 'UDP port of RoCEv2; packets with telemetry use the next one',
    command: { flag: '--port <port>' },
  },
  {
    name: 'io',
    kind: 'choice',
    choices: IO_NAMES,
    default: 'auto',
    doc: 'how packets are sent and received',
    command: { flag: '--io <name>', env: 'WEIR_IO' },
  },
  {
    name: 'sourcePorts',
    kind: 'count',
    min: 1,
    max: 64,
    doc: 'UDP source ports of all connections; networks choose paths by them',
    command: {
      flag: '--source-ports <count>',
      usual: '16 with --io batch, 4 with dgram; others use any',
    },
  },
  {
    name: 'lineRateBps',
    kind: 'rate',
    min: 1,
    max: MOST,
    doc: "rate of this host's link, as in 10Gbps",
    command: { flag: '--line-rate <rate>', usual: 'what the network card reports' },
  },
  {
    name: 'baseRtt',
    kind: 'time',
    min: 0,
    max: MOST,
    doc: 'round-trip time of the idle path, as in 50us',
    command: { flag: '--base-rtt <time>', usual: 'the smallest of the last 10 s' },
  },
  {
    name: 'priority',
    kind: 'count',
    min: 0,
    max: 7,
    default: 0,
    doc: "priority of this host's packets: it chooses their DSCP",
    command: { flag: '--priority <number>' },
  },
  {
    name: 'ifaProtocol',
    kind: 'count',
    min: 0,
    max: 255,
    default: 253,
    doc: 'IP protocol of IFA in this network, none of another use here',
    command: { flag: '--ifa-protocol <number>' },
  },
  {
    name: 'chunk',
    kind: 'bytes',
    min: 0,
    max: MOST,
    default: 1 << 20,
    doc: 'unit of a transfer; each end holds 8 of them in memory',
    command: { flag: '--chunk <bytes>' },
  },
] as const satisfies readonly CommandOption[]

/** How long the process of a closed daemon may take to end by itself. */
const LINGER_MS = 1000

/** `weir daemon` */
export function daemonCommand(): Command {
  return addCongestionFlags(optionsOfDaemon()).action(runDaemon)
}

function optionsOfDaemon(): Command {
  const command = commandOf('daemon').option(
    '--address <address>',
    'address to listen on; no other host can reach the default',
    '127.0.0.1',
  )
  addValueOptions(command, [...OPTIONS, ...commandOptions(TRANSPORT_OPTIONS)])
  return withProcess(withFormats(withPlaces(command)))
}

/** Adds the options for files, for packets, and for the behaviour of connections. */
function withPlaces(command: Command): Command {
  return command
    .option(
      '--inbox <dir>',
      'folder for received files; at its start the daemon removes unfinished ones that are 7 days old',
      defaultInbox(),
    )
    .option('--share <dir>', 'folder whose files every host that reaches the address may get (default: none)')
    .option('--socket <path>', 'control socket', defaultSocketPath())
    .option('--interface <name>', 'network interface of --io packet (default: the one that has the address)')
    .addOption(
      new Option('--cc <name>', 'congestion control; auto: HPCC++ where switches write telemetry, else CUBIC')
        .choices(ccNames())
        .default('auto'),
    )
    .option('--dscp-of-priority <list>', 'the DSCPs of priorities 0 to 7 (default: 0,8,16,24,32,40,48,56)')
}

/** Adds the options for telemetry in packets, and for authentication. */
function withFormats(command: Command): Command {
  return command
    .option(
      '--int <format:hops>',
      `format of telemetry in data packets, and its hops, 1 to 15; formats: ${FORMAT_NAMES.join(', ')} (default: wide:5, and more hops to peers where there turned out to be more)`,
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

/** Adds the options for what it does for other hosts, and for its use of this machine. */
function withProcess(command: Command): Command {
  return command
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
    inbox: flags.inbox,
    share: flags.share,
    socketPath: flags.socket,
    interface: flags.interface,
    ...valuesOf(OPTIONS, flags),
    ...transportOf(flags),
    cc: { name: flags.cc, options: parseCcOptions(flags.cc, flags.ccOption ?? []) },
    dscpOfPriority: flags.dscpOfPriority === undefined ? undefined : parseDscps(flags.dscpOfPriority),
    int: flags.int === undefined ? undefined : parseTelemetry(flags.int),
    telemetry: telemetryOf(flags),
    anyCc: flags.anyCc,
    paths: parsePathSettings(flags.paths ?? []),
    secret: flags.keyFile === undefined ? undefined : readKeyFile(flags.keyFile),
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
  // Everything is closed. If an event still keeps the process alive, it will never come.
  setTimeout(() => process.exit(), LINGER_MS).unref()
  if (daemon.failure) throw daemon.failure
}

/** Returns settings of the transport by the names of a daemon's options. */
function transportOf(flags: DaemonFlags) {
  const table = commandOptions(TRANSPORT_OPTIONS)
  const { ackEvery, ...others }: Partial<TransportOptions> = valuesOf(table, flags)
  return { ...others, ackEveryPackets: ackEvery }
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

/** Parses `--overlay`. Throws WEIR_BAD_ARGUMENT. */
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

/** Parses `--int`: `wide:5`. Throws WEIR_BAD_ARGUMENT. */
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
