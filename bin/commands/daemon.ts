import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { BASE_RTT, LINE_RATE } from '../../lib/cc/context-options.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { parsePathSettings } from '../../lib/cc/path-settings.js'
import { parseTelemetrySettings, type TelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { defaultSocketPath } from '../../lib/control/socket-path.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { readKeyFile } from '../../lib/daemon/key-file.js'
import { ServiceManager } from '../../lib/daemon/service-manager.js'
import { tuneGarbageCollection } from '../../lib/daemon/tune-gc.js'
import { onEndSignal } from '../../lib/end-signals.js'
import { WeirError } from '../../lib/errors.js'
import { PERFTEST_PORT } from '../../lib/interop/perftest/tests.js'
import { createLog, LOG_LEVELS, type Logger } from '../../lib/log.js'
import {
  CLASS_SELECTORS,
  CONNECTIONS,
  checkKeepAlive,
  checkUntaggedCnps,
  DSCP,
  KEEP_ALIVE,
  PAYLOAD,
  UDP_PORT,
} from '../../lib/nic/nic-options.js'
import type { OverlayLink } from '../../lib/open-nic/open-port.js'
import { IO, PORT_OPTIONS } from '../../lib/open-nic/port-options.js'
import { readDecimal } from '../../lib/options/decimal.js'
import type { CommandOption, SettingsOf, ValueOption } from '../../lib/options/option.js'
import { parseNumber, parseValue } from '../../lib/options/parse-options.js'
import { isWithin } from '../../lib/options/read-value.js'
import { TRANSPORT_OPTIONS, type TransportOptions, UNTAGGED_CNPS } from '../../lib/qp/transport-options.js'
import { HOME_CONFIG, readIdentityFile } from '../../lib/secure/identity-file.js'
import { type KeyPair, rawPrivate } from '../../lib/secure/x25519.js'
import { isLoopback } from '../../lib/transfer/task/resolve.js'
import { CHUNK } from '../../lib/transfer/transfer-options.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { INT_FORMAT, INT_HOPS } from '../../lib/wire/telemetry/int-options.js'
import { FORMAT_NAMES, type IntFormat } from '../../lib/wire/telemetry/telemetry.js'
import { addCongestionFlags, ccOption } from './congestion-flags.js'
import { applyConfig, configText, SYSTEM_CONFIG, withConfigFile } from './daemon-config.js'
import { commandOf } from './names.js'
import { addValueOptions, commandOptions, valuesOf } from './value-options.js'

/** The flags that are not in `OPTIONS` and not of the transport. */
interface DaemonFlags {
  address: string
  inbox: string
  share?: string
  allowDelete?: boolean
  socket: string
  group?: string
  ccOption?: string[]
  int?: string
  telemetry?: string[]
  paths?: string[]
  keyFile?: string
  identity?: string
  peers?: string
  acceptNew?: boolean
  allowClear?: string[]
  insecure?: boolean
  hostHop: boolean
  perf: boolean
  allowTunnel?: string[]
  perftest?: string
  worker: boolean
  busyPoll?: boolean
  overlay?: string
  anyCc?: boolean
  inof?: string
  untilStdinEnds?: boolean
  /** False: no file is read. */
  config?: string | false
  printConfig?: boolean
}

type DaemonTransport = Omit<TransportOptions, 'pathMtu'> & SettingsOf<[typeof PAYLOAD]>

const CC_ABOUT = 'congestion control; auto: HPCC++ where switches write telemetry, else CUBIC'

const LOG_LEVEL = {
  name: 'logLevel',
  kind: 'choice',
  choices: LOG_LEVELS,
  default: 'info',
  doc: 'lowest level that is logged',
  command: { flag: '--log-level <level>' },
} as const satisfies CommandOption

/** Those of the transport. A scenario has no interfaces whose packets could be filled. */
const TRANSPORT = commandOptions(TRANSPORT_OPTIONS).map(
  (option): CommandOption => (option.name === PAYLOAD.name ? PAYLOAD : option),
)

const [, SOURCE_PORTS, INTERFACE, PRIORITY, DSCPS, IFA, ICRC, CNP_PRIORITY] = PORT_OPTIONS
/** They know of each other, wherever the help has them. */
const OPTIONS = [
  ...PORT_OPTIONS,
  UDP_PORT,
  LINE_RATE,
  BASE_RTT,
  KEEP_ALIVE,
  CHUNK,
  CONNECTIONS,
  UNTAGGED_CNPS,
] as const

const PERFTEST = {
  name: 'perftest',
  kind: 'count',
  min: 1,
  max: 65_535,
  doc: `answer clients of perftest (ib_write_bw, ib_send_lat and the others) of every host that reaches this port, of TCP and of the connection manager; theirs is ${PERFTEST_PORT}`,
  command: { flag: '--perftest <port>', usual: 'none are answered' },
} as const satisfies CommandOption

/** Parts of `--overlay`. */
const VNI = {
  name: 'vni',
  kind: 'count',
  min: 0,
  max: 0xffffff,
  doc: 'VXLAN network',
} as const satisfies ValueOption
const ANY_PORT = {
  name: 'port',
  kind: 'count',
  min: 0,
  max: 65_535,
  doc: 'UDP port',
} as const satisfies ValueOption

/** How long the process of a closed daemon may take to end by itself. */
const LINGER_MS = 1000

/** `weir daemon` */
export function daemonCommand(): Command {
  return optionsOfDaemon().action(runDaemon)
}

function optionsOfDaemon(): Command {
  return withProcess(withTelemetryForms(withTransport(withTrust(withFiles(withPlace(commandOf('daemon')))))))
}

function withPlace(command: Command): Command {
  command
    .optionsGroup('Where it is:')
    .option('--address <address>', 'address to listen on; no other host can reach the default', '127.0.0.1')
  addValueOptions(command, [UDP_PORT, IO, SOURCE_PORTS, INTERFACE], OPTIONS)
  return command
    .option('--socket <path>', 'control socket', defaultSocketPath())
    .option('--group <name>', 'group whose members may use the control socket too (default: its owner alone)')
}

function withFiles(command: Command): Command {
  command
    .optionsGroup('Files:')
    .option(
      '--inbox <dir>',
      'folder for received files; at its start the daemon removes unfinished ones that are 7 days old',
      defaultInbox(),
    )
    .option('--share <dir>', 'folder whose files every host that reaches the address may get (default: none)')
    .option(
      '--allow-delete',
      'let hosts that send folders delete what else is in these, in the inbox (weir send --delete)',
    )
  return addValueOptions(command, [CHUNK])
}

function withTransport(command: Command): Command {
  command.optionsGroup('Network and transport:')
  addValueOptions(command, [LINE_RATE, BASE_RTT, PRIORITY, DSCPS, CNP_PRIORITY], OPTIONS)
  addValueOptions(command, TRANSPORT)
  return addValueOptions(command, [KEEP_ALIVE, ICRC, UNTAGGED_CNPS], OPTIONS)
}

/** Who the other hosts are. With any of the first two, connections are sealed. */
function withTrust(command: Command): Command {
  return command
    .optionsGroup('Keys:')
    .option(
      '--identity <path>',
      `this host's key, made by weir key new (${HOME_CONFIG}/key): connections are sealed, with known peers only (default: none)`,
    )
    .option(
      '--peers <path>',
      `known peers, a line each: NAME[,NAME…] KEY [may=send,get,perf,tunnel] (default: ${HOME_CONFIG}/known_peers)`,
    )
    .option('--accept-new', 'note the key of a host that this one connects to for the first time')
    .option(
      '--key-file <path>',
      'file of mode 0600 with a secret of 16 to 1024 bytes, the same on all hosts: hosts refuse connections without it, seal them, ' +
        'and authenticate feedback (HPCC++ draft-02, security considerations) (default: none)',
    )
    .option(
      '--allow-clear <address...>',
      'hosts with which connections are in the clear all the same: ADDRESS, ADDRESS/BITS or any (default: none)',
    )
    .option(
      '--insecure',
      'listen where other hosts reach it without any key: who does may send files and read what moves',
    )
}

/** What decides how fast it sends; `addCongestionFlags` has the rest of the group. */
function withTelemetryForms(command: Command): Command {
  command.optionsGroup('Congestion control and telemetry:')
  addValueOptions(command, [ccOption(CC_ABOUT, { default: 'auto' })])
  command.option(
    '--int <format:hops>',
    `format of telemetry in data packets, and its hops, ${INT_HOPS.min} to ${INT_HOPS.max}; formats: ${FORMAT_NAMES.join(', ')} (default: wide:5, and more hops to peers where there turned out to be more)`,
  )
  addValueOptions(command, [IFA], OPTIONS)
  addCongestionFlags(command)
  return command.option(
    '--no-host-hop',
    'do not report this host as the last hop, so senders are not held to what it can take in (as --telemetry hostHop=false)',
  )
}

/** Reads how a lab has its hosts announce themselves, as `daemonArguments` writes it. */
function parseInof(text: string) {
  const [name = '', kind, silence, failover] = text.split(':')
  const silenceSeconds = Number(silence)
  if (name === '' || !Number.isInteger(silenceSeconds) || silenceSeconds < 1)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `--inof ${text}: it is NAME:KIND:SILENCE:FAILOVER, as in h1:0:1:1`,
    )
  return { name, storage: kind === '1', silenceSeconds, failover: failover === '1' }
}

/** Adds the options for what it does for other hosts, and for its use of this machine. */
function withProcess(command: Command): Command {
  command.optionsGroup('Process:').option('--no-perf', 'refuse measurements by other hosts (weir perf)')
  addValueOptions(command, [PERFTEST])
  command
    .option(
      '--allow-tunnel <host:port...>',
      'TCP targets that this daemon dials for every host that reaches it (weir tunnel): HOST is a name, an address, ADDRESS/BITS or *, PORT a number or * (default: none)',
    )
    .option('--busy-poll', 'poll for packets without sleeping: lowest latency, a whole core')
    .option('--no-worker', 'send and receive on the thread of the control socket, not on one of its own')
    .option(
      '--config <path>',
      `YAML file with these options by their names; options of the command line have precedence (default: ${HOME_CONFIG}/daemon.yaml, else ${SYSTEM_CONFIG}, if it is there)`,
    )
    .option('--no-config', 'read no such file')
    .option('--print-config', 'print the settings and where each comes from, and end')
  return addValueOptions(command, [CONNECTIONS, LOG_LEVEL])
    .addOption(new Option('--overlay <link>', 'vni=N,local=ADDRESS:PORT,peer=ADDRESS:PORT').hideHelp())
    .addOption(new Option('--inof <announcement>', 'for labs: NAME:KIND:SILENCE:FAILOVER').hideHelp())
    .addOption(new Option('--any-cc', 'telemetry is for connections that name their own --cc').hideHelp())
    .addOption(new Option('--until-stdin-ends', 'stop when standard input ends').hideHelp())
}

async function runDaemon(_flags: DaemonFlags, command: Command): Promise<void> {
  const { config, overlay, untilStdinEnds } = command.opts<DaemonFlags>()
  // Daemons of labs and scenarios get all their settings from their parent.
  const isChild = overlay !== undefined || untilStdinEnds === true
  const file = isChild && config === undefined ? null : applyConfig(command, config)
  const flags = command.opts<DaemonFlags>()
  const { logLevel } = valuesOf([LOG_LEVEL], flags, command)
  if (flags.printConfig) {
    try {
      settingsOf(flags, command)
    } catch (error) {
      throw withConfigFile(error, file)
    }
    process.stdout.write(configText(command))
    return
  }
  const log = createLog(logLevel!, 'weir')
  const manager = ServiceManager.from(process.env, log)
  const daemon = await started(flags, command, log).catch(error => {
    throw withConfigFile(error, file)
  })
  const stop = (why: string) => {
    log.info({ why }, 'stopping')
    manager?.stopping()
    void daemon.close()
  }
  const unlisten = onEndSignal(signal => {
    unlisten()
    stop(signal)
  })
  if (flags.untilStdinEnds) process.stdin.resume().once('close', () => stop('standard input ended'))
  const { share, ...about } = daemon.about
  log.info(
    { ...about, ...(share && { share }), socket: flags.socket, ...(file && { config: file }) },
    'ready',
  )
  manager?.ready(`serves ${about.address}, UDP port ${about.port}`, daemon)
  await daemon.closed
  manager?.close()
  process.stdin.pause()
  // Everything is closed. If an event still keeps the process alive, it will never come.
  setTimeout(() => process.exit(), LINGER_MS).unref()
  if (daemon.failure) throw daemon.failure
}

async function started(flags: DaemonFlags, command: Command, log: Logger): Promise<Daemon> {
  checkExposure(flags)
  tuneGarbageCollection()
  return await Daemon.start({
    ...settingsOf(flags, command),
    identity: flags.identity === undefined ? undefined : rawPrivate(identityOf(flags.identity)),
    secret: flags.keyFile === undefined ? undefined : readKeyFile(flags.keyFile),
    log,
  })
}

/** All that stands in the command line and the config file. Throws WEIR_BAD_ARGUMENT for a value that makes no sense. */
function settingsOf(flags: DaemonFlags, command: Command) {
  const { cc } = valuesOf([ccOption(CC_ABOUT, { default: 'auto' })], flags, command)
  const { dscpOfPriority, ...values } = valuesOf(OPTIONS, flags, command)
  if (values.keepAliveNs !== undefined) checkKeepAlive('--keep-alive', values.keepAliveNs)
  checkUntaggedCnps('--untagged-cnps', values.untaggedCnps ?? 0, '--key-file', flags.keyFile !== undefined)
  return {
    address: flags.address,
    inbox: flags.inbox,
    share: flags.share,
    allowDelete: flags.allowDelete,
    socketPath: flags.socket,
    group: flags.group,
    ...values,
    byFlags: true,
    ...transportOf(flags, command),
    cc: { name: cc!, options: parseCcOptions(cc!, flags.ccOption ?? []) },
    dscpOfPriority: dscpOfPriority === undefined ? undefined : parseDscps(dscpOfPriority),
    int: flags.int === undefined ? undefined : parseTelemetry(flags.int),
    telemetry: telemetryOf(flags),
    anyCc: flags.anyCc,
    inof: flags.inof === undefined ? undefined : parseInof(flags.inof),
    paths: parsePathSettings(flags.paths ?? []),
    peers: flags.peers,
    acceptNew: flags.acceptNew,
    allowClear: flags.allowClear,
    perf: flags.perf,
    allowTunnel: flags.allowTunnel,
    perftestPort: valuesOf([PERFTEST], flags, command).perftest,
    busyPoll: flags.busyPoll,
    worker: flags.worker,
    overlay: flags.overlay === undefined ? undefined : parseOverlay(flags.overlay),
  }
}

/** Throws WEIR_NO_FILE, WEIR_BAD_ARGUMENT, and says which option it is. */
function identityOf(path: string): KeyPair {
  try {
    return readIdentityFile(path)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    throw new WeirError(error.code, `--identity ${error.message}`, { cause: error.cause })
  }
}

/** Without a key only this machine may reach the daemon, unless the user says otherwise. Throws WEIR_BAD_ARGUMENT. */
function checkExposure({ address, identity, keyFile, insecure }: DaemonFlags): void {
  const hasKey = identity !== undefined || keyFile !== undefined
  if (hasKey && insecure) {
    const text = '--insecure is for daemons without a key: leave it out, or --identity and --key-file'
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  if (hasKey || insecure || isIP(address) === 0 || isLoopback(HostAddress.parse(address))) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `--address ${address}: other hosts may reach it, and without a key whoever does may send files and read what moves. Make a key (weir key new) and give --identity, or --key-file with a common secret; on a network that you trust, --insecure`,
  )
}

/** Returns settings of the transport by the names of a daemon's options. */
function transportOf(flags: DaemonFlags, command: Command) {
  const { ackEvery, ...others } = valuesOf(TRANSPORT, flags, command) as Partial<DaemonTransport>
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
    vni: parseNumber('--overlay vni', VNI, parts.get('vni') ?? ''),
    local: endpoint('local', parts.get('local')),
    peer: endpoint('peer', parts.get('peer')),
  }
}

function endpoint(name: string, text = ''): { address: string; port: number } {
  const colon = text.lastIndexOf(':')
  if (colon < 1)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--overlay ${name}: ADDRESS:PORT is expected, not "${text}"`)
  const address = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { address, port: parseNumber(`--overlay ${name}`, ANY_PORT, text.slice(colon + 1)) }
}

function parseDscps(text: string): number[] {
  const dscps = text.split(',').map(part => readDecimal(part.trim(), true))
  if (dscps.length === 8 && dscps.every(dscp => isWithin(DSCP, dscp))) return dscps
  const form = `a list of 8 DSCPs, each ${DSCP.min} to ${DSCP.max}, as in ${CLASS_SELECTORS.join(',')}`
  throw new WeirError('WEIR_BAD_ARGUMENT', `--dscp-of-priority is ${form}, not "${text}"`)
}

/** Parses `--int`: `wide:5`. Throws WEIR_BAD_ARGUMENT. */
export function parseTelemetry(text: string): { format: IntFormat; hops: number } {
  const [format = '', hops, ...more] = text.split(':')
  if (hops === undefined || more.length > 0) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `--int is FORMAT:HOPS, as in wide:5, not "${text}"; formats: ${FORMAT_NAMES.join(', ')}`,
    )
  }
  return {
    format: parseValue('--int: the format', INT_FORMAT, format) as IntFormat,
    hops: parseNumber('--int: the number of hops', INT_HOPS, hops),
  }
}
