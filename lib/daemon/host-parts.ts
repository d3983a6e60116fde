import type { Logger } from '../log.js'
import type { Inbox } from '../transfer/file/inbox.js'
import type { Share } from '../transfer/file/share.js'
import type { TransferService } from '../transfer/service.js'
import type { OpenedNic } from './open-nic.js'

/** The parts of a host. */
export interface HostParts extends OpenedNic {
  readonly inbox: Inbox
  readonly share: Share | null
  readonly transfers: TransferService
  readonly log: Logger
}
