import type { RequestBodies, ResponseContent } from '../control/messages.js'
import type { RequestContext } from '../control/server.js'
import type { Logger } from '../log.js'
import { ServiceThread } from '../thread/service-thread.js'
import { GRACE_MS, type HostAbout, type HostRequest, type HostService } from './host-service.js'
import type { HostStart } from './host-thread.js'
import type { LocalHostOptions } from './local-host.js'

/** The thread is terminated if its host has not closed within this time. */
const CLOSE_MS_MAX = 2 * GRACE_MS + 3000

/**
 * The data side of a daemon on a thread of its own. Requests and answers are messages between the threads.
 */
export class WorkerHost implements HostService {
  readonly parts = null
  readonly #thread: ServiceThread<HostAbout>
  readonly #log: Logger
  /** The ping that has not been answered. All callers share it. */
  #alive: Promise<void> | null = null

  /** Throws what `LocalHost.open` throws. `onDefect` is also called if the thread ends by itself. */
  static async open(
    options: LocalHostOptions,
    log: Logger,
    onDefect: (error: unknown) => void,
  ): Promise<WorkerHost> {
    const start: HostStart = { options, logLevel: log.level, logName: String(log.bindings().name) }
    const module = new URL('./host-thread.js', import.meta.url)
    const thread = await ServiceThread.open<HostAbout>(module, { what: 'the data path', start, onDefect })
    return new WorkerHost(thread, log)
  }

  private constructor(thread: ServiceThread<HostAbout>, log: Logger) {
    this.#thread = thread
    this.#log = log
  }

  get about(): HostAbout {
    return this.#thread.about
  }

  async answer<K extends HostRequest>(
    kind: K,
    request: RequestBodies[K],
    context: RequestContext,
  ): Promise<ResponseContent> {
    return (await this.#thread.call(kind, request, context)) as ResponseContent
  }

  async isAlive(): Promise<void> {
    this.#alive ??= this.#thread.ping().finally(() => {
      this.#alive = null
    })
    await this.#alive
  }

  async close(): Promise<void> {
    const isClosed = await this.#thread.close(CLOSE_MS_MAX)
    if (!isClosed) this.#log.error('the data path did not end: it was ended as it was')
  }
}
