import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestBodies, ResponseContent } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import { closeNic, type NicOptions, openNic } from '../open-nic/open-nic.js'
import { checkValue } from '../options/check-options.js'
import type { SealingOptions } from '../secure/seal-verbs.js'
import { Arrivals } from '../transfer/file/arrivals.js'
import { Inbox } from '../transfer/file/inbox.js'
import { Share } from '../transfer/file/share.js'
import { sweepPartials } from '../transfer/file/sweep.js'
import { TransferService } from '../transfer/service.js'
import { CHUNK } from '../transfer/transfer-options.js'
import { AllowedTargets } from '../tunnel/targets.js'
import type { TunnelServer } from '../tunnel/tunnel-server.js'
import type { HostAddress } from '../wire/net/address.js'
import { DefectLog } from './defect-log.js'
import { transferHandlers } from './handlers.js'
import type { HostParts } from './host-parts.js'
import {
  GRACE_MS,
  type HostAbout,
  type HostHandlers,
  type HostRequest,
  type HostService,
} from './host-service.js'
import { perfHandler, type ServedPerf, servePerf } from './perf.js'
import { type RoundHook, servePerftest } from './perftest.js'
import { sealDaemon } from './sealing.js'
import { takeTraffic, trafficHandler } from './traffic.js'
import { newTunnelStreams, serveTunnels, tunnelHandler } from './tunnel.js'

/** When a host starts, it removes partial files that no transfer has resumed for 7 days. */
const PARTIALS_KEPT_MS = 7 * 24 * 3600 * 1000
/** After the connections are closed, the NIC runs for this long so that their peers learn of it. */
const LAST_WORDS_MS = 50
/** How often handshakes that take too long are looked for. */
const HANDSHAKE_TICK_MS = 1000

export interface LocalHostOptions extends NicOptions, SealingOptions {
  /** Folder that receives files. */
  inbox: string
  /** Folder whose files other hosts may get. Default: none. */
  share?: string
  /** Other hosts may have deleted, in folders of the inbox that they send, what they do not have. Default false. */
  allowDelete?: boolean
  /** Bytes of a chunk of a transfer, 4 KiB to 1600 KiB. Default 1 MiB. */
  chunkBytes?: number
  /** False: other hosts may not measure against this one. Default true. */
  perf?: boolean
  /** TCP targets that it dials for other hosts, as HOST:PORT. Default: none. */
  allowTunnel?: readonly string[]
  /** Answers clients of perftest at that port, of TCP and of the connection manager. Default: no. */
  perftestPort?: number
}

/** The data side of a daemon, on the event loop of this thread. */
export class LocalHost implements HostService {
  readonly parts: HostParts
  readonly about: HostAbout
  readonly #handlers: HostHandlers
  readonly #perf: ServedPerf
  readonly #tunnels: TunnelServer
  readonly #running = new Set<RunningRequest>()
  readonly #handshakes: NodeJS.Timeout
  #closing = false

  /**
   * Throws WEIR_BAD_ARGUMENT, WEIR_UNSUPPORTED or WEIR_NO_FILE after it closed what was open.
   *
   * @param onDefect called once if the NIC throws. The NIC has stopped then, and the caller should close the
   * host
   */
  static async open(
    options: LocalHostOptions,
    log: Logger,
    onDefect: (error: unknown) => void,
  ): Promise<LocalHost> {
    if (options.chunkBytes !== undefined) checkValue('daemon', CHUNK, options.chunkBytes)
    const allowedTargets = new AllowedTargets(options.allowTunnel ?? [])
    const arrivals = new Arrivals(options.chunkBytes)
    const inbox = await Inbox.at(options.inbox, arrivals)
    const share = options.share === undefined ? null : await Share.at(options.share)
    const removed = await sweepPartials(inbox.folder, Date.now() - PARTIALS_KEPT_MS)
    if (removed > 0) log.info({ removed, inbox: inbox.folder }, 'old unfinished files were removed')
    const contained = new DefectLog(log)
    const hook: RoundHook = { onRound: () => {} }
    const arrival = { on: (_host: HostAddress) => {} }
    const opened = await openNic(
      options,
      { onStopped: onDefect, onContained: error => contained.add(error) },
      {
        ...(options.perftestPort !== undefined && { onRound: now => hook.onRound(now) }),
        onArrival: host => arrival.on(host),
      },
    )
    try {
      const sealed = sealDaemon(opened.nic, options, options.secret)
      const verbs = sealed ?? opened.nic
      const transfers = new TransferService({
        verbs,
        time: opened.loop,
        store: inbox,
        trees: inbox,
        allowsDeletion: options.allowDelete ?? false,
        arrivals,
        log,
        ...(share ? { share } : {}),
        ...(options.chunkBytes === undefined ? {} : { chunkBytes: options.chunkBytes }),
      })
      arrival.on = host => transfers.onArrival(host)
      const tunnels = newTunnelStreams(log)
      const { perftestPort } = options
      const perftest =
        perftestPort === undefined ? null : await servePerftest(opened, hook, perftestPort, log)
      const services = { transfers, tunnels, perftest }
      const parts = { ...opened, ...services, verbs, sealed, inbox, share, allowedTargets, log }
      return new LocalHost(parts, options.perf ?? true)
    } catch (error) {
      await closeNic(opened)
      throw error
    }
  }

  private constructor(parts: HostParts, servesOtherPerf: boolean) {
    const { address, udpPort, io, inbox, share, transfers } = parts
    this.parts = parts
    this.about = {
      address: address.toString(),
      port: udpPort,
      io,
      inbox: inbox.folder,
      share: share?.folder ?? '',
    }
    this.#handlers = {
      ...transferHandlers(parts),
      traffic: trafficHandler(parts),
      perf: perfHandler(parts),
      tunnel: tunnelHandler(parts),
    }
    takeTraffic(parts)
    this.#tunnels = serveTunnels(parts)
    this.#perf = servePerf(parts, servesOtherPerf)
    transfers.start()
    this.#handshakes = setInterval(() => parts.sealed?.tick(parts.loop.now()), HANDSHAKE_TICK_MS).unref()
  }

  async answer<K extends HostRequest>(
    kind: K,
    request: RequestBodies[K],
    context: RequestContext,
  ): Promise<ResponseContent> {
    if (this.#closing) throw new WeirError('WEIR_BAD_STATE', 'the daemon is shutting down')
    const handler = this.#handlers[kind] as unknown as Handler<K>
    const running = new RunningRequest(context.signal)
    this.#running.add(running)
    try {
      const { signal } = running
      return await handler(request, { signal, progress: progress => context.progress(progress) })
    } finally {
      this.#running.delete(running)
      running.end()
    }
  }

  /** The caller runs on the same thread, so the thread is alive. */
  async isAlive(): Promise<void> {}

  async close(): Promise<void> {
    this.#closing = true
    clearInterval(this.#handshakes)
    const { transfers, tunnels, loop, perftest } = this.parts
    const carried = tunnels.live.size
    this.#tunnels.close()
    tunnels.close()
    if (carried > 0) await sleep(LAST_WORDS_MS)
    await perftest?.close()
    const measured = this.#perf.endSessions()
    await transfers.close(GRACE_MS)
    await measured
    await this.#endRequests()
    this.#perf.close()
    loop.wake()
    await closeNic(this.parts)
  }

  /** Ends measurements and flows from memory. Transfers have ended by now. */
  async #endRequests(): Promise<void> {
    if (this.#running.size === 0) return
    const ended = [...this.#running].map(running => running.cancel())
    const late = new AbortController()
    await Promise.race([Promise.all(ended), sleep(GRACE_MS, undefined, { signal: late.signal })])
    late.abort()
    await sleep(LAST_WORDS_MS)
  }
}

/** A request under way. The client may cancel it, and so may the host. */
class RunningRequest {
  readonly #abort = new AbortController()
  readonly #asked: AbortSignal
  readonly #ended: Promise<void>
  #resolveEnded = () => {}

  constructor(asked: AbortSignal) {
    this.#asked = asked
    this.#ended = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
    if (asked.aborted) this.#abort.abort()
    else asked.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Resolves when the request has ended. */
  cancel(): Promise<void> {
    this.#abort.abort()
    return this.#ended
  }

  end(): void {
    this.#asked.removeEventListener('abort', this.#onAbort)
    this.#resolveEnded()
  }

  readonly #onAbort = (): void => this.#abort.abort()
}
