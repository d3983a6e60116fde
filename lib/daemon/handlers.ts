/** Answers the control socket's requests about the daemon and its transfers. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Loose, Progress, TransferReply } from '../control/messages.js'
import type { RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { HostLoop } from '../io/loop/host-loop.js'
import { MILLISECOND, SECOND } from '../time/nanos.js'
import { STREAMS_MAX } from '../transfer/protocol/messages.js'
import { Meter } from '../transfer/task/meter.js'
import { RETRIES_MAX } from '../transfer/task/retries.js'
import type { Transfer, TransferResult } from '../transfer/task/transfer.js'
import type { HostParts } from './host-parts.js'
import type { HostHandlers } from './host-service.js'
import { statusOf } from './status.js'

/** How often a client gets the progress of its transfer. */
const PROGRESS_EVERY_MS = 200
/** The highest port that leaves a next one for packets with telemetry. */
const UDP_PORT_MAX = 65_534
/** How long the answer to a cancel waits for the end of the transfer. */
const CANCEL_WITHIN_MS = 2000

type OnStarted = (transfer: Transfer) => void

/** Returns the handlers of requests about the host and its transfers. */
export function transferHandlers(host: HostParts): Omit<HostHandlers, 'traffic' | 'perf' | 'tunnel'> {
  const { transfers, loop } = host
  const startedMs = Date.now()
  return {
    status: async () => ({ status: statusOf(host, startedMs) }),
    send: async (request, context) => {
      checkAbsolute(request.pipe || request.path)
      checkHost(request)
      checkRetries(request.retries)
      checkStreams(request.streams)
      const send = (onStarted: OnStarted) => transfers.send(request, context.signal, onStarted)
      return { transfer: await run(loop, context, send) }
    },
    sendTree: async (request, context) => {
      for (const { path } of request.roots) checkAbsolute(path)
      checkHost(request)
      checkRetries(request.retries)
      checkStreams(request.streams)
      const send = (onStarted: OnStarted) => transfers.sendTree(request, context.signal, onStarted)
      return { transfer: await run(loop, context, send) }
    },
    get: async (request, context) => {
      checkAbsolute(request.pipe || request.directory)
      checkHost(request)
      checkRetries(request.retries)
      checkStreams(request.streams)
      const get = (onStarted: OnStarted) => transfers.get(request, context.signal, onStarted)
      return { transfer: await run(loop, context, get) }
    },
    getTree: async (request, context) => {
      checkAbsolute(request.directory)
      checkHost(request)
      checkRetries(request.retries)
      checkStreams(request.streams)
      const get = (onStarted: OnStarted) => transfers.getTree(request, context.signal, onStarted)
      return { transfer: await run(loop, context, get) }
    },
    cancel: async request => {
      const cancelled = transfers.cancel(request.transferId)
      await within(CANCEL_WITHIN_MS, cancelled?.ended)
      return { cancel: { found: cancelled !== null } }
    },
    listTransfers: async () => ({
      listTransfers: {
        transfers: [...transfers.transfers].map(transfer => ({
          transferId: transfer.id,
          direction: transfer.direction,
          name: transfer.session.name,
          peer: transfer.peer,
          progress: progressOf(transfer, transfers.goodputBps(transfer)) as Progress,
        })),
      },
    }),
  }
}

/** Resolves when `ended` does, but at the latest after this time. */
async function within(ms: number, ended: Promise<unknown> = Promise.resolve()): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  await Promise.race([ended, sleep(ms, undefined, { signal }).catch(() => {})])
  over.abort()
}

function checkAbsolute(path: string): void {
  if (path.startsWith('/')) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `"${path}" is not absolute: the daemon runs in another folder`)
}

function checkHost({ host, port }: { host: string; port: number }): void {
  if (host === '') throw new WeirError('WEIR_BAD_ARGUMENT', 'the request names no host')
  if (port > UDP_PORT_MAX) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `the UDP port is 1 to ${UDP_PORT_MAX}, not ${port}`)
  }
}

function checkRetries(retries: number): void {
  if (retries <= RETRIES_MAX) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${retries} retries are asked for, ${RETRIES_MAX} is the most`)
}

function checkStreams(streams: number): void {
  if (streams <= STREAMS_MAX) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${streams} streams are asked for, ${STREAMS_MAX} is the most`)
}

/** Runs a transfer for a client, and sends the client its progress. */
async function run(
  loop: HostLoop,
  context: RequestContext,
  start: (onStarted: OnStarted) => Promise<TransferResult>,
): Promise<Loose<TransferReply>> {
  let id = ''
  let timer: NodeJS.Timeout | undefined
  try {
    const outcome = await start(transfer => {
      id = transfer.id
      const meter = new Meter(loop.now())
      const report = () => {
        const goodputBps = meter.sample(loop.now(), transfer.movedBytes)
        context.progress(progressOf(transfer, goodputBps))
      }
      timer = setInterval(report, PROGRESS_EVERY_MS)
      report()
    })
    return replyOf(id, outcome)
  } finally {
    clearInterval(timer)
  }
}

function replyOf(transferId: string, outcome: TransferResult): Loose<TransferReply> {
  const { durationNs, digestKind, bytes, resumedBytes, ...same } = outcome
  const seconds = durationNs / SECOND
  const goodputBps = seconds > 0 ? ((bytes - resumedBytes) * 8) / seconds : 0
  return {
    ...same,
    transferId,
    bytes,
    resumedBytes,
    seconds,
    goodputBps,
    digestKind: digestKind.toLowerCase(),
  }
}

function progressOf(transfer: Transfer, goodputBps: number): Loose<Progress> {
  const { session, figures, retry } = transfer
  return {
    transferId: transfer.id,
    bytes: transfer.deliveredBytes,
    totalBytes: session.sizeBytes,
    goodputBps,
    rateBps: figures?.rateBps ?? 0,
    windowBytes: figures?.windowBytes ?? 0,
    pathQueueBytes: figures?.pathQueueBytes ?? 0,
    pathHops: figures?.pathHops ?? 0,
    rttNs: figures?.rttNs ?? 0,
    baseRttNs: figures?.baseRttNs ?? 0,
    controller: figures?.controller ?? '',
    controllerReason: figures?.controllerReason ?? '',
    retransmittedBytes: figures?.retransmittedBytes ?? 0,
    spuriousRetransmissions: figures?.spuriousRetransmissions ?? 0,
    timeouts: figures?.timeouts ?? 0,
    pathMoves: figures?.pathMoves ?? 0,
    damagedChunks: transfer.damagedChunks,
    state: transfer.state,
    sealedWith: session.sealedWith,
    streams: session.streams,
    attempts: transfer.attempts,
    retry: retry?.number ?? 0,
    retries: retry?.most ?? 0,
    retryInMs: (retry?.inNs ?? 0) / MILLISECOND,
    files: session.mover.fileCounts?.done ?? 0,
    totalFiles: session.mover.fileCounts?.total ?? 0,
  }
}
