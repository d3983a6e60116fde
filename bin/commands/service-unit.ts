/** Units of systemd for the daemon. docs/service.md says what each part is for. */
import { SERVICE_SOCKET } from '../../lib/control/socket-path.js'

/** The service's own key: of its user, who exists while it runs. */
const SERVICE_KEY = '/var/lib/weir/key'

/** The daemon ends transfers within 2 s and measurements within 2 s more; its thread within 7 s. */
const STOP_SECONDS = 15
/** The NIC's thread may be silent for this long. */
const WATCHDOG_SECONDS = 30

/** Lines of every unit. NotifyAccess: systemd-notify, which stands in for koffi, is a process of its own. */
const SERVICE = `Type=notify
NotifyAccess=all
WatchdogSec=${WATCHDOG_SECONDS}
TimeoutStopSec=${STOP_SECONDS}
Restart=on-failure
RestartSec=2
LimitNOFILE=65536
NoNewPrivileges=yes`

/** JavaScript is compiled while it runs, so MemoryDenyWriteExecute= cannot be. */
const HARDENING = `# A user that exists while the service runs. The daemon needs no capability on ordinary sockets.
DynamicUser=yes
StateDirectory=weir
StateDirectoryMode=0755
RuntimeDirectory=weir
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=read-only
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM`

/** What a unit says of this installation. */
interface Installation {
  /** The words that start weir. */
  program: readonly string[]
  /** Documents, as URIs. systemd-analyze verify takes no manual page that is not installed. */
  documents: readonly string[]
}

export function systemUnit({ program, documents }: Installation, group?: string): string {
  const words = ['daemon', '--socket', SERVICE_SOCKET, '--inbox', '/var/lib/weir/inbox', ...groupWords(group)]
  const groups = group === undefined ? '' : `SupplementaryGroups=${group}\n`
  return `${head(documents, 'network-online.target')}
[Service]
# Settings are in /etc/weir.yaml, if there is such a file; those of this line have precedence.
# Beyond loopback they have to name keys, as in: identity: ${SERVICE_KEY}
ExecStartPre=${commandLine([...program, 'key', 'new', '--if-missing', SERVICE_KEY])}
ExecStart=${commandLine([...program, ...words])}
${SERVICE}
${groups}
${HARDENING}

[Install]
WantedBy=multi-user.target
`
}

/** It has no user to change to, and what restricts file systems is not for users' units. */
export function userUnit({ program, documents }: Installation, group?: string): string {
  return `${head(documents)}
[Service]
ExecStart=${commandLine([...program, 'daemon', ...groupWords(group)])}
${SERVICE}

[Install]
WantedBy=default.target
`
}

function head(documents: readonly string[], after?: string): string {
  const order = after === undefined ? '' : `Wants=${after}\nAfter=${after}\n`
  return `[Unit]
Description=Weir: files, streams and measurements over RoCEv2
Documentation=${documents.map(document => document.replaceAll('%', '%%')).join(' ')}
${order}`
}

function groupWords(group: string | undefined): string[] {
  return group === undefined ? [] : ['--group', group]
}

/** Quotes words as systemd reads them (systemd.service(5), "Command lines"): % and $ stand for something there. */
function commandLine(words: readonly string[]): string {
  return words.map(quoted).join(' ')
}

function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w./:@%$,=+-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&')}"`
}
