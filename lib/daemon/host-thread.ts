/** The thread of a WorkerHost: a LocalHost that answers the requests that the WorkerHost forwards. */
import type { RequestBodies } from '../control/messages.js'
import { createLog } from '../log.js'
import { serveThread } from '../thread/serve-thread.js'
import type { HostRequest } from './host-service.js'
import { LocalHost, type LocalHostOptions } from './local-host.js'

/** Data with which the thread starts. */
export interface HostStart {
  options: LocalHostOptions
  /** Log level. The thread logs to the standard error of the process, line by line. */
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
