/** The thread of a Host: its NIC, and what the application asks of it. */
import { serveThread } from '../thread/serve-thread.js'
import type { VerbsStart } from './messages.js'
import { VerbsService } from './verbs-service.js'

await serveThread<VerbsStart>((start, events) => VerbsService.open(start, events))
