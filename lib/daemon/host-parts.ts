import type { Logger } from '../log.js'
import type { Verbs } from '../nic/types.js'
import type { OpenedNic } from '../open-nic/open-nic.js'
import type { SealedVerbs } from '../secure/sealed-verbs.js'
import type { Inbox } from '../transfer/file/inbox.js'
import type { Share } from '../transfer/file/share.js'
import type { TransferService } from '../transfer/service.js'
import type { AllowedTargets } from '../tunnel/targets.js'
import type { TunnelStreams } from '../tunnel/tunnel-streams.js'
import type { ServedPerftest } from './perftest.js'

/** The parts of a host. */
export interface HostParts extends OpenedNic {
  /** The NIC as transfers, measurements and tunnels use it: their connections are sealed where this host has a key. */
  readonly verbs: Verbs
  /** The same; null: they are in the clear. */
  readonly sealed: SealedVerbs | null
  readonly inbox: Inbox
  readonly share: Share | null
  readonly transfers: TransferService
  readonly tunnels: TunnelStreams
  readonly allowedTargets: AllowedTargets
  /** Null: it does not answer clients of perftest. */
  readonly perftest: ServedPerftest | null
  readonly log: Logger
}
