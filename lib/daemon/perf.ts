/** Answers Perf requests of the control plane by measuring, and lets other hosts measure against this one. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parsePathSettings } from '../cc/path-settings.js'
import { parseTelemetrySettings } from '../cc/telemetry-settings.js'
import type { Loose, PerfReply, PerfRequest } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { HostLoop } from '../io/loop/host-loop.js'
import type { Port } from '../io/port.js'
import type { ConnectOptions } from '../nic/types.js'
import { systemRandom } from '../open-nic/random.js'
import { PerfRun } from '../perf/perf-run.js'
import { PerfServer } from '../perf/server.js'
import { isMode, isOp, type PerfSettings } from '../perf/settings.js'
import { Meter } from '../transfer/task/meter.js'
import { resolveHost } from '../transfer/task/resolve.js'
import type { HostParts } from './host-parts.js'

type PerfHost = Pick<HostParts, 'nic' | 'verbs' | 'loop' | 'port' | 'io'>

/** Runs of one daemon at a time. */
const RUNS_MAX = 4
const TICK_MS = 10
const SERVER_TICK_MS = 1000
/** Interval at which `endSessions` checks whether the sessions are over, and the number of checks. */
const END_LOOK_MS = 20
const END_LOOKS = 50
/** Interval of progress reports to the client. */
const PROGRESS_EVERY_MS = 1000

/** The service that lets other hosts measure. */
export interface ServedPerf {
  /**
   * Ends running sessions and refuses new ones. Resolves when their peers know it, at the latest after a
   * second.
   */
  endSessions(): Promise<void>
  close(): void
}

/** Begins to serve runs of other hosts, unless `serves` is false. The caller closes the result. */
export function servePerf({ nic, verbs, loop }: PerfHost, serves: boolean): ServedPerf {
  const limits = {
    queueDepth: nic.settings.queueDepth,
    receiveBudgetBytes: nic.settings.receiveBudgetBytes,
  }
  const server = new PerfServer({
    verbs,
    limits,
    random: systemRandom(),
    cpuUs,
    storage: true,
    onBusyPoll: busy => (busy ? loop.beginPolling() : loop.endPolling()),
  })
  if (!serves) server.refuse()
  const timer = setInterval(() => {
    if (server.sessions.size === 0) return
    server.onTick(loop.now())
    loop.wake()
  }, SERVER_TICK_MS)
  timer.unref()
  return {
    async endSessions() {
      if (server.sessions.size === 0) return server.refuse()
      server.close(loop.now())
      loop.wake()
      for (let looks = 0; server.sessions.size > 0 && looks < END_LOOKS; looks++) await sleep(END_LOOK_MS)
      // Datagrams of the connection manager leave after all other packets.
      await sleep(END_LOOK_MS)
    },
    close: () => clearInterval(timer),
  }
}

/** Returns the handler of requests to measure. */
export function perfHandler(host: PerfHost): Handler<'perf'> {
  let runs = 0
  return async (request, context) => {
    if (runs === RUNS_MAX) throw new WeirError('WEIR_FULL', `${RUNS_MAX} measurements run here already`)
    runs++
    if (request.busyPoll) host.loop.beginPolling()
    try {
      return { perf: await measure(host, request, context) }
    } finally {
      if (request.busyPoll) host.loop.endPolling()
      runs--
    }
  }
}

async function measure(
  host: PerfHost,
  request: PerfRequest,
  context: RequestContext,
): Promise<Loose<PerfReply>> {
  const { nic, verbs, loop, port, io } = host
  const settings = settingsOf(request)
  if (request.host === '') throw new WeirError('WEIR_BAD_ARGUMENT', 'perf: the request names no host')
  const remote = await resolveHost(request.host, nic.address)
  const connect = connectOptions(request)
  const over = new AbortController()
  const run = new PerfRun(loop.now(), {
    verbs,
    limits: { queueDepth: nic.settings.queueDepth, receiveBudgetBytes: nic.settings.receiveBudgetBytes },
    remote,
    settings,
    connect,
    clock: () => loop.now(),
    cpuUs,
    storage: true,
    onDone: () => over.abort(),
  })
  loop.wake()
  const cancel = () => {
    run.cancel(loop.now(), new WeirError('WEIR_CANCELLED', 'the measurement was cancelled'))
    loop.wake()
  }
  context.signal.addEventListener('abort', cancel, { once: true })
  const tick = setInterval(() => {
    run.onTick(loop.now())
    loop.wake()
  }, TICK_MS)
  const progress = setInterval(reporter(loop, run, context), PROGRESS_EVERY_MS)
  try {
    if (context.signal.aborted) cancel()
    if (!over.signal.aborted) await once(over.signal, 'abort')
    if (run.error) throw run.error
    return { ...replyOf(run, port), io }
  } finally {
    context.signal.removeEventListener('abort', cancel)
    clearInterval(tick)
    clearInterval(progress)
    loop.wake()
  }
}

function settingsOf(request: PerfRequest): PerfSettings {
  const op = request.op.toUpperCase()
  const mode = { bw: 'STREAM', lat: 'PING_PONG' }[request.test]
  if (!isOp(op) || !isMode(mode)) {
    const text = `perf: "${request.test}" "${request.op}" is not bw or lat with write, send or read`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  return { ...request, op, mode }
}

/**
 * Returns the congestion control that the request names, if it is not the daemon's. Throws WEIR_BAD_ARGUMENT.
 */
function connectOptions(
  request: PerfRequest,
): Pick<ConnectOptions, 'peerName' | 'udpPort' | 'cc' | 'telemetry' | 'paths'> {
  const { congestionControl: name, options, telemetry, paths, port, host: peerName } = request
  const cc = { name, options: { ...options } }
  return {
    peerName,
    udpPort: port || undefined,
    ...(name !== '' && { cc }),
    ...(telemetry.length > 0 && { telemetry: parseTelemetrySettings(telemetry) }),
    ...(paths.length > 0 && { paths: parsePathSettings(paths) }),
  }
}

function replyOf(run: PerfRun, { mtu }: Port): Loose<PerfReply> {
  const { tally, remote, cpuUs, remoteCpuUs, retransmittedBytes, spuriousRetransmissions, depth } =
    run.outcome
  const { mode, op } = run.settings
  return {
    messages: tally.messages,
    bytes: tally.bytes,
    seconds: tally.seconds,
    goodputBps: tally.goodputBps,
    peakBps: tally.peakBps,
    latency: tally.latency.summary(mode === 'PING_PONG' && op !== 'READ' ? 0.5 : 1),
    retransmittedBytes,
    spuriousRetransmissions,
    cpuSeconds: cpuUs / 1e6,
    remoteCpuSeconds: remoteCpuUs / 1e6,
    remoteMessages: remote.messages,
    remoteBytes: remote.bytes,
    remoteGoodputBps: remote.seconds > 0 ? (remote.bytes * 8) / remote.seconds : 0,
    remotePeakBps: remote.peakBps,
    depth,
    pathMtu: run.path.pathMtu,
    baseRttNs: run.path.baseRttNs,
    controller: run.path.controller,
    controllerReason: run.path.controllerReason,
    mtu,
    sealedWith: run.path.sealedWith,
  }
}

function reporter(loop: HostLoop, run: PerfRun, context: RequestContext): () => void {
  const meter = new Meter(loop.now())
  return () => {
    const { tally, retransmittedBytes, spuriousRetransmissions } = run.outcome
    const { pathMtu: _mtu, ...path } = run.path
    context.progress({
      ...path,
      bytes: tally.bytes,
      totalBytes: tally.bytes,
      goodputBps: meter.sample(loop.now(), tally.bytes),
      retransmittedBytes,
      spuriousRetransmissions,
      state: run.state,
    })
  }
}

/** User and system time of this process, microseconds. */
function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
