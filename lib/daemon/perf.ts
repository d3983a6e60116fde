/** Measuring: answers the control plane's Perf requests with runs, and serves the runs of other hosts. */
import { once } from 'node:events'
import type { Loose, PerfReply, PerfRequest } from '../control/messages.js'
import type { RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { HostLoop } from '../io/host-loop.js'
import { PerfRun } from '../perf/perf-run.js'
import { PerfServer } from '../perf/server.js'
import { isMode, isOp, type PerfSettings } from '../perf/settings.js'
import { Meter } from '../transfer/meter.js'
import { resolveHost } from '../transfer/resolve.js'
import type { Daemon } from './daemon.js'
import { systemRandom } from './random.js'

/** Runs of one daemon at a time. */
const RUNS_MAX = 4
const TICK_MS = 10
const SERVER_TICK_MS = 1000
/** How often the client hears how its run stands. */
const PROGRESS_EVERY_MS = 1000

/** Begins to serve runs, unless `serves` is false, and registers what makes them. */
export function registerPerfHandler(daemon: Daemon, serves: boolean): PerfServer {
  const { nic, loop, control } = daemon.parts
  const polling = new Polling(loop)
  const limits = {
    queueDepth: nic.settings.queueDepth,
    receiveBudgetBytes: nic.settings.receiveBudgetBytes,
  }
  const server = new PerfServer({
    verbs: nic,
    limits,
    random: systemRandom(),
    cpuUs,
    storage: true,
    onBusyPoll: busy => (busy ? polling.begin() : polling.end()),
  })
  if (!serves) server.refuse()
  const timer = setInterval(() => {
    if (server.sessions.size === 0) return
    server.onTick(loop.now())
    loop.wake()
  }, SERVER_TICK_MS)
  timer.unref()
  void daemon.closed.then(() => clearInterval(timer))

  let runs = 0
  control.registerHandler('perf', async (request, context) => {
    if (runs === RUNS_MAX) throw new WeirError('WEIR_FULL', `${RUNS_MAX} measurements run here already`)
    runs++
    if (request.busyPoll) polling.begin()
    try {
      return { perf: await measure(daemon, request, context) }
    } finally {
      if (request.busyPoll) polling.end()
      runs--
    }
  })
  return server
}

async function measure(
  daemon: Daemon,
  request: PerfRequest,
  context: RequestContext,
): Promise<Loose<PerfReply>> {
  const { nic, loop, io } = daemon.parts
  const settings = settingsOf(request)
  if (request.host === '') throw new WeirError('WEIR_BAD_ARGUMENT', 'perf: the request names no host')
  const remote = await resolveHost(request.host, nic.address)
  const over = new AbortController()
  const run = new PerfRun(loop.now(), {
    verbs: nic,
    limits: { queueDepth: nic.settings.queueDepth, receiveBudgetBytes: nic.settings.receiveBudgetBytes },
    remote,
    settings,
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
  const progress = setInterval(reporter(daemon, run, context), PROGRESS_EVERY_MS)
  try {
    if (context.signal.aborted) cancel()
    if (!over.signal.aborted) await once(over.signal, 'abort')
    if (run.error) throw run.error
    return { ...replyOf(run), io }
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

function replyOf(run: PerfRun): Loose<PerfReply> {
  const { tally, remote, cpuUs, remoteCpuUs, retransmittedBytes, depth } = run.outcome
  const { mode, op } = run.settings
  return {
    messages: tally.messages,
    bytes: tally.bytes,
    seconds: tally.seconds,
    goodputBps: tally.goodputBps,
    peakBps: tally.peakBps,
    latency: tally.latency.summary(mode === 'PING_PONG' && op !== 'READ' ? 0.5 : 1),
    retransmittedBytes,
    cpuSeconds: cpuUs / 1e6,
    remoteCpuSeconds: remoteCpuUs / 1e6,
    remoteMessages: remote.messages,
    remoteBytes: remote.bytes,
    remoteGoodputBps: remote.seconds > 0 ? (remote.bytes * 8) / remote.seconds : 0,
    depth,
    pathMtu: run.path.pathMtu,
    baseRttNs: run.path.baseRttNs,
  }
}

function reporter(daemon: Daemon, run: PerfRun, context: RequestContext): () => void {
  const { loop } = daemon.parts
  const meter = new Meter(loop.now())
  return () => {
    const { tally, retransmittedBytes } = run.outcome
    const { pathMtu: _mtu, ...path } = run.path
    context.progress({
      ...path,
      bytes: tally.bytes,
      totalBytes: tally.bytes,
      goodputBps: meter.sample(loop.now(), tally.bytes),
      retransmittedBytes,
      state: run.state,
    })
  }
}

/** While anybody wants it, the loop runs a round in every turn of the event loop: it looks, and never sleeps. */
class Polling {
  readonly #loop: HostLoop
  #wanted = 0

  constructor(loop: HostLoop) {
    this.#loop = loop
  }

  begin(): void {
    if (this.#wanted++ === 0) setImmediate(this.#turn)
  }

  end(): void {
    this.#wanted--
  }

  readonly #turn = (): void => {
    if (this.#wanted === 0) return
    this.#loop.wake()
    setImmediate(this.#turn)
  }
}

/** User and system time of this process, microseconds. */
function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
