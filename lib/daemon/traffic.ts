/**
 * Laboratory traffic: answers Traffic requests of the control plane with flows from memory, and accepts the
 * flows of other hosts.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkController } from '../cc/check-controller.js'
import type { Loose, TrafficReply, TrafficRequest } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { HostLoop } from '../io/loop/host-loop.js'
import type { NicSettings } from '../nic/config.js'
import type { ConnectOptions } from '../nic/types.js'
import type { OpenedNic } from '../open-nic/open-nic.js'
import { SECOND } from '../time/nanos.js'
import { pathFigures } from '../traffic/path-figures.js'
import { TrafficFlow } from '../traffic/traffic-flow.js'
import { TrafficSink } from '../traffic/traffic-sink.js'
import { Meter } from '../transfer/task/meter.js'
import { resolveHost } from '../transfer/task/resolve.js'

/** Flows of one daemon at a time. */
const FLOWS_MAX = 256
/** Bytes of the memory to which all incoming flows write repeatedly. */
const SINK_BYTES = 1 << 20
/** Interval of progress reports to the client. */
const PROGRESS_EVERY_MS = 100
/** Interval at which a waiting flow checks whether it may start, ms. */
const LOOK_EVERY_MS = 2
/** The longest delay that setTimeout accepts. */
const WAIT_MS_MAX = 2 ** 31 - 1

/** Begins to accept flows of other hosts. */
export function takeTraffic({ nic }: OpenedNic): void {
  new TrafficSink(nic, SINK_BYTES, true)
}

/** Returns the handler of requests to send flows. */
export function trafficHandler(host: OpenedNic): Handler<'traffic'> {
  let flows = 0
  return async (request, context) => {
    if (flows === FLOWS_MAX) throw new WeirError('WEIR_FULL', `${FLOWS_MAX} flows run here already`)
    flows++
    try {
      return { traffic: await runFlow(host, request, context) }
    } finally {
      flows--
    }
  }
}

async function runFlow(
  { nic, loop }: OpenedNic,
  request: TrafficRequest,
  context: RequestContext,
): Promise<Loose<TrafficReply>> {
  const waitMs = request.startUnixMs > 0 ? request.startUnixMs - Date.now() : 0
  if (!(waitMs <= WAIT_MS_MAX)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `flow ${request.name}: its start lies more than 24 days ahead`)
  }
  const connect = connectOptions(request, nic.settings)
  const remote = await resolveHost(request.host, nic.address)
  // Aborts when the flow has ended or its client has cancelled it.
  const over = new AbortController()
  const onAbort = () => over.abort()
  const { name, bytes } = request
  const flow = new TrafficFlow(loop.now(), nic, remote, {
    name,
    bytes,
    storage: true,
    connect,
    onDone: onAbort,
  })
  loop.wake()
  context.signal.addEventListener('abort', onAbort, { once: true })
  try {
    await ready(flow, context.signal)
    await untilUnixMs(request.startUnixMs, over.signal)
    check(flow, context.signal)
    const startUnixMs = Date.now()
    flow.start(loop.now())
    loop.wake()
    await reportUntil(over.signal, loop, flow, context)
    check(flow, context.signal)
    return replyOf(flow, startUnixMs)
  } finally {
    context.signal.removeEventListener('abort', onAbort)
    flow.close(loop.now())
    loop.wake()
  }
}

/** Throws WEIR_BAD_ARGUMENT for a controller or an option that does not exist. */
function connectOptions(
  { congestionControl, options, priorityPlusOne, sourcePort }: TrafficRequest,
  settings: NicSettings,
): ConnectOptions {
  const priority = priorityPlusOne === 0 ? undefined : priorityPlusOne - 1
  const common = { priority, sourcePort: sourcePort || undefined }
  if (congestionControl === '') return common
  const cc = { name: congestionControl, options }
  checkController(cc, settings.lineRateBps, settings.pathMtu)
  return { ...common, cc }
}

/** Waits for the connection and its base RTT. A flow's completion time does not include them. */
async function ready(flow: TrafficFlow, signal: AbortSignal): Promise<void> {
  check(flow, signal)
  while (!flow.established || flow.connection.stats.baseRttNs === 0) {
    await sleep(LOOK_EVERY_MS)
    check(flow, signal)
  }
}

/** Waits for a time of day, or until the signal aborts. */
async function untilUnixMs(unixMs: number, signal: AbortSignal): Promise<void> {
  // A timer may end a fraction of a millisecond before its time.
  for (let leftMs = unixMs - Date.now(); leftMs > 0 && !signal.aborted; leftMs = unixMs - Date.now()) {
    await sleep(Math.ceil(leftMs), undefined, { signal }).catch(() => {})
  }
}

/** Throws if the flow has failed or its client has cancelled it. */
function check(flow: TrafficFlow, signal: AbortSignal): void {
  if (flow.error) throw flow.error
  if (signal.aborted) throw new WeirError('WEIR_CANCELLED', `flow ${flow.name} was cancelled`)
}

async function reportUntil(
  over: AbortSignal,
  loop: HostLoop,
  flow: TrafficFlow,
  context: RequestContext,
): Promise<void> {
  const meter = new Meter(loop.now())
  const report = () => {
    const { stats } = flow.connection
    context.progress({
      bytes: flow.ackedBytes,
      totalBytes: flow.bytes,
      goodputBps: meter.sample(loop.now(), flow.ackedBytes),
      rateBps: stats.rateBps,
      windowBytes: stats.windowBytes,
      pathQueueBytes: stats.pathQueueBytes,
      pathHops: stats.pathHops,
      rttNs: stats.rttNs,
      baseRttNs: stats.baseRttNs,
      controller: stats.controller,
      controllerReason: stats.controllerReason,
      retransmittedBytes: stats.retransmittedBytes,
      spuriousRetransmissions: stats.spuriousRetransmissions,
      timeouts: stats.timeouts,
      paths: pathFigures(stats),
      state: 'streaming',
    })
  }
  const timer = setInterval(report, PROGRESS_EVERY_MS)
  try {
    report()
    if (!over.aborted) await once(over, 'abort')
    report()
  } finally {
    clearInterval(timer)
  }
}

function replyOf(flow: TrafficFlow, startUnixMs: number): Loose<TrafficReply> {
  const { stats } = flow.connection
  const fctNs = flow.endNs - flow.startNs
  return {
    name: flow.name,
    bytes: flow.bytes,
    startUnixMs,
    fctNs,
    goodputBps: fctNs > 0 ? (flow.bytes * 8 * SECOND) / fctNs : 0,
    retransmittedBytes: stats.retransmittedBytes,
    spuriousRetransmissions: stats.spuriousRetransmissions,
    timeouts: stats.timeouts,
    baseRttNs: stats.baseRttNs,
    paths: pathFigures(stats),
  }
}
