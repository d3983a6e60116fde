import type { Logger } from '../log.js'
import type { Inbox } from '../transfer/inbox.js'
import type { TransferService } from '../transfer/service.js'
import type { Share } from '../transfer/share.js'
import type { OpenedNic } from './open-nic.js'

/** What a host is made of. */
export interface HostParts extends OpenedNic {
  readonly inbox: Inbox
  readonly share: Share | null
  readonly transfers: TransferService
  readonly log: Logger
}
