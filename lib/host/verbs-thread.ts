/** The thread of a Host: it runs the NIC and answers the application. */
import { serveThread } from '../thread/serve-thread.js'
import type { VerbsStart } from './messages.js'
import { VerbsService } from './verbs-service.js'

await serveThread<VerbsStart>((start, events) => VerbsService.open(start, events))
