/** The thread of a WorkerHost: a LocalHost that answers what is forwarded to it. */
import type { RequestBodies } from '../control/messages.js'
import { createLog } from '../log.js'
import { serveThread } from '../thread/serve-thread.js'
import type { HostRequest } from './host-service.js'
import { LocalHost, type LocalHostOptions } from './local-host.js'

/** What the thread is started with. */
export interface HostStart {
  options: LocalHostOptions
  /** Level of its log, which goes to the same standard error, line by line. */
  logLevel: string
  logName: string
}

await serveThread<HostStart>(async ({ options, logLevel, logName }, events) => {
  const log = createLog(logLevel, logName)
  const host = await LocalHost.open(options, log, error => events.defect(error))
  return {
    about: host.about,
    answer: (kind, body, context) =>
      host.answer(kind as HostRequest, body as RequestBodies[HostRequest], context),
    close: () => host.close(),
  }
})
