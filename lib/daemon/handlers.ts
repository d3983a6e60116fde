/** What the daemon answers on its control socket. */

import type { Loose, Progress, StatusReply, TransferReply } from '../control/messages.js'
import type { RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import { SECOND } from '../time/nanos.js'
import type { TransferOutcome } from '../transfer/active-session.js'
import { Meter } from '../transfer/meter.js'
import type { Transfer } from '../transfer/service.js'
import type { Daemon } from './daemon.js'

/** How often a client hears how its transfer stands. */
const PROGRESS_EVERY_MS = 200

/** Registers status, send, get, cancel, stop and listTransfers. */
export function registerTransferHandlers(daemon: Daemon): void {
  const { control, transfers } = daemon.parts
  control.registerHandler('status', async () => ({ status: statusOf(daemon) }))
  control.registerHandler('send', async (request, context) => {
    checkAbsolute(request.path)
    checkHost(request.host)
    return {
      transfer: await run(daemon, context, onStarted => transfers.send(request, context.signal, onStarted)),
    }
  })
  control.registerHandler('get', async (request, context) => {
    checkAbsolute(request.directory)
    checkHost(request.host)
    return {
      transfer: await run(daemon, context, onStarted => transfers.get(request, context.signal, onStarted)),
    }
  })
  control.registerHandler('cancel', async request => ({
    cancel: { found: transfers.cancel(request.transferId) },
  }))
  control.registerHandler('listTransfers', async () => ({
    listTransfers: {
      transfers: [...transfers.transfers].map(transfer => ({
        transferId: transfer.id,
        direction: transfer.direction,
        name: transfer.session.name,
        peer: transfer.peer,
        progress: progressOf(transfer, 0) as Progress,
      })),
    },
  }))
  control.registerHandler('stop', async () => {
    // The answer goes out first.
    setImmediate(() => void daemon.close())
    return { stop: {} }
  })
}

function checkAbsolute(path: string): void {
  if (path.startsWith('/')) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `"${path}" is not absolute: the daemon runs in another folder`)
}

function checkHost(host: string): void {
  if (host === '') throw new WeirError('WEIR_BAD_ARGUMENT', 'the request names no host')
}

/** Runs a transfer that a client asked for, and tells the client how it stands. */
async function run(
  daemon: Daemon,
  context: RequestContext,
  start: (onStarted: (transfer: Transfer) => void) => Promise<TransferOutcome>,
): Promise<Loose<TransferReply>> {
  const { loop } = daemon.parts
  let id = ''
  let timer: NodeJS.Timeout | undefined
  try {
    const outcome = await start(transfer => {
      id = transfer.id
      const meter = new Meter(loop.now())
      const report = () => {
        const goodputBps = meter.sample(loop.now(), transfer.session.deliveredBytes)
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

function replyOf(transferId: string, outcome: TransferOutcome): Loose<TransferReply> {
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
  const { session } = transfer
  const { figures } = session
  return {
    transferId: transfer.id,
    bytes: session.deliveredBytes,
    totalBytes: session.sizeBytes,
    goodputBps,
    rateBps: figures?.rateBps ?? 0,
    windowBytes: figures?.windowBytes ?? 0,
    pathQueueBytes: figures?.pathQueueBytes ?? 0,
    pathHops: figures?.pathHops ?? 0,
    rttNs: figures?.rttNs ?? 0,
    baseRttNs: figures?.baseRttNs ?? 0,
    retransmittedBytes: figures?.retransmittedBytes ?? 0,
    timeouts: figures?.timeouts ?? 0,
    state: session.state,
  }
}

function statusOf(daemon: Daemon): StatusReply {
  const { address, udpPort, io, inbox, share, nic, transfers } = daemon.parts
  const { rx, feedback } = nic.counters
  return {
    version: daemon.version,
    pid: process.pid,
    address: address.toString(),
    port: udpPort,
    inbox: inbox.folder,
    io,
    congestionControl: nic.settings.cc.name,
    lineRateBps: nic.settings.lineRateBps,
    pathMtu: nic.settings.pathMtu,
    uptimeSeconds: (Date.now() - daemon.startedMs) / 1000,
    residentBytes: process.memoryUsage.rss(),
    transfers: transfers.count,
    receivedBytes: transfers.receivedBytes,
    sentBytes: transfers.sentBytes,
    share: share?.folder ?? '',
    refusedFeedback: rx.untaggedFeedback + rx.forgedFeedback + rx.replayedFeedback,
    implausibleTelemetry: rx.implausibleTelemetry + feedback.implausibleTelemetry,
  }
}
