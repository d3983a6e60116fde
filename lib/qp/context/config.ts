import { WeirError } from '../../errors.js'
import { SLOT_BYTES } from '../../frame/frame-pool.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import { DEFAULT_DOMAIN, type DomainId, type MemoryTable } from '../memory/memory.js'
import type { CompletionQueue } from '../queues/completion-queue.js'
import { PSN_HALF } from '../queues/psn.js'
import { ReadRoom } from '../queues/read-room.js'
import type { ReceiveSource } from '../queues/receive-queue.js'
import { ReorderPool } from '../queues/reorder-buffer.js'

/** What a queue pair is made with. Everything optional can also be settled later, by `modify` to RTR and RTS. */
export interface QpConfig {
  /** Number of this queue pair, 2 to 0xffffff (0 and 1 are reserved, IBA 10.2.4). */
  qpn: number
  sendCq: CompletionQueue
  receiveCq: CompletionQueue
  memory: MemoryTable
  /** Protection domain: the peer and the application reach its regions only (IBA 10.2.3). Default: the adapter's default domain. */
  domain?: DomainId
  /** Work requests, 1 to 65,536. Default 128. */
  sendQueueDepth?: number
  /** Work requests, 1 to 65,536. Default 128. */
  receiveQueueDepth?: number
  /** Where its receives come from, instead of `postReceive`. Default: null. */
  receiveSource?: ReceiveSource | null
  /** One ACK per so many request packets, besides those asked for; 0 = only when asked for. Default 1. */
  ackEveryPackets?: number
  /**
   * An ACK of what has come in order since the last one leaves before a NAK of a gap, for peers that take no second NAK without an ACK between.
   * Default false: the NAK says it as well.
   */
  acksBeforeNak?: boolean
  /** AckReq at least once in so many packets of a long message, 1 to 2^22. Default 64. */
  ackRequestEveryPackets?: number
  /** Bound on unacknowledged PSNs, 1 to 2^23. Default 8192. One READ that takes more runs alone. */
  maxPacketsInFlight?: number
  /** Payload bytes of a full packet, a multiple of 4 from 256 to 4096: InfiniBand knows the powers of two. Default 1024. */
  pathMtu?: number
  /** What the peer may do, a sum of `Access` (IBA 10.6.3). Default 0. */
  access?: number
  /** READs and atomics of the peer that are kept for replay, 0 to 255 (IBA 9.7.4.1). Default 16. */
  responderResources?: number
  /** READs and atomics outstanding at a time, 0 to 255; at most the peer's resources. Default 16. */
  initiatorDepth?: number
  /** Retries after a timeout or NAK without progress, 0 to 7 (IBA 9.9.2.1). Default 7. */
  retryCount?: number
  /** Retries after RNR NAK, 0 to 6; 7 = without end. Default 7. */
  rnrRetry?: number
  /** Timeout is 4.096 us * 2^n, n to 31; 0 = never (IBA 9.9.2.1). Default 14: 67 ms. */
  ackTimeoutExponent?: number
  /** Code of the least time that an RNR NAK asks the peer to wait, 0 to 31 (IBA table 45). Default 12: 0.64 ms. */
  minRnrTimer?: number
  /** The port sends payloads from where they lie: they are not copied into frames. Default false. */
  gathers?: boolean
  /**
   * Selective repeat, if the peer does it too: keeps what came out of order, sends SACKs, and retransmits only what
   * is missing. Default false.
   */
  selectiveRepeat?: boolean
  /** Packets out of order that each half keeps for selective repeat, 1 to 65,536. Default 2048. */
  reorderPackets?: number
  /**
   * A packet out of order is kept if it is no more than so many PSNs beyond the highest that has arrived: what the peer may have
   * in flight. 1 to 2^23. Default: maxPacketsInFlight, beyond the next one expected.
   */
  grantedPackets?: number
  /** Where it keeps them. Default: a pool of its own for both halves. */
  reorderPool?: ReorderPool
  /**
   * Packets that have to arrive out of order until selective repeat takes those before them for lost, as long as none has
   * been overtaken; with fewer, time has to pass. 1 to 65,536. Default 3 (RFC 8985, DupThresh).
   */
  reorderTolerance?: number
  /**
   * Shortest silence after which selective repeat retransmits the last packet; NEVER = it does not. Default 0: two
   * round trips.
   */
  probeTimeoutLeastNs?: Nanos
  /**
   * Least retransmission timeout beyond the smoothed round trip (RFC 6298). NEVER: packets are only retransmitted after the
   * silence of the transport timer, which is longer where round trips are. Default NEVER, as the standard has it.
   */
  retransmitTimeoutLeastNs?: Nanos
  /** Bounds what all queue pairs of the host request at once by READs. Default: no bound. */
  readRoom?: ReadRoom
}

/** What is of each queue pair alone, and not of all that are alike. */
type OwnConfig = 'qpn' | 'sendCq' | 'receiveCq' | 'memory' | 'domain' | 'receiveSource'
/** What alike queue pairs have in common. */
export type CommonQpConfig = Omit<QpConfig, OwnConfig>

/** What `modify` may settle: everything that the connection manager negotiates. */
export interface QpAttributes {
  /** Needed for RTR, and settled with it. */
  remoteQpn?: number
  /** First PSN of the peer, needed for RTR. */
  receivePsn?: number
  /** First PSN of ours, needed for RTS. */
  sendPsn?: number
  /** From INIT to RTR only. */
  pathMtu?: number
  /** From INIT to RTR only. */
  responderResources?: number
  initiatorDepth?: number
  access?: number
  retryCount?: number
  rnrRetry?: number
  ackTimeoutExponent?: number
  minRnrTimer?: number
  ackEveryPackets?: number
  acksBeforeNak?: boolean
  /** From INIT to RTR only. */
  selectiveRepeat?: boolean
  /** From INIT to RTR only. */
  grantedPackets?: number
}

/**
 * Every setting, with defaults filled in. It is a class so that all settings have one hidden class, and each is named where it is
 * taken over: by a loop over names V8 would search for each of them, in each connection.
 */
export class QpSettings implements Required<QpConfig> {
  readonly qpn: number
  readonly sendCq: CompletionQueue
  readonly receiveCq: CompletionQueue
  readonly memory: MemoryTable
  readonly domain: DomainId
  readonly sendQueueDepth: number
  readonly receiveQueueDepth: number
  readonly receiveSource: ReceiveSource | null
  ackEveryPackets: number
  acksBeforeNak: boolean
  ackRequestEveryPackets: number
  readonly maxPacketsInFlight: number
  pathMtu: number
  access: number
  responderResources: number
  initiatorDepth: number
  retryCount: number
  rnrRetry: number
  ackTimeoutExponent: number
  minRnrTimer: number
  readonly gathers: boolean
  selectiveRepeat: boolean
  readonly reorderPackets: number
  grantedPackets: number
  readonly reorderPool: ReorderPool
  readonly reorderTolerance: number
  readonly probeTimeoutLeastNs: Nanos
  readonly retransmitTimeoutLeastNs: Nanos
  readonly readRoom: ReadRoom

  /** @param common in place of what `config` says beside its own; settings of another queue pair are taken as they are */
  constructor(config: QpConfig, common: CommonQpConfig = config) {
    this.qpn = config.qpn
    this.sendCq = config.sendCq
    this.receiveCq = config.receiveCq
    this.memory = config.memory
    this.domain = config.domain ?? DEFAULT_DOMAIN
    this.sendQueueDepth = common.sendQueueDepth ?? 128
    this.receiveQueueDepth = common.receiveQueueDepth ?? 128
    this.receiveSource = config.receiveSource ?? null
    this.ackEveryPackets = common.ackEveryPackets ?? 1
    this.acksBeforeNak = common.acksBeforeNak ?? false
    this.ackRequestEveryPackets = common.ackRequestEveryPackets ?? 64
    this.maxPacketsInFlight = common.maxPacketsInFlight ?? 8192
    this.pathMtu = common.pathMtu ?? 1024
    this.access = common.access ?? 0
    this.responderResources = common.responderResources ?? 16
    this.initiatorDepth = common.initiatorDepth ?? 16
    this.retryCount = common.retryCount ?? 7
    this.rnrRetry = common.rnrRetry ?? 7
    this.ackTimeoutExponent = common.ackTimeoutExponent ?? 14
    this.minRnrTimer = common.minRnrTimer ?? 12
    this.gathers = common.gathers ?? false
    this.selectiveRepeat = common.selectiveRepeat ?? false
    this.reorderPackets = common.reorderPackets ?? 2048
    this.grantedPackets = common.grantedPackets ?? PSN_HALF
    this.reorderTolerance = common.reorderTolerance ?? 3
    this.probeTimeoutLeastNs = common.probeTimeoutLeastNs ?? 0
    this.retransmitTimeoutLeastNs = common.retransmitTimeoutLeastNs ?? NEVER
    if (!(common instanceof QpSettings)) checkSettings(this, common)
    this.reorderPool = common.reorderPool ?? new ReorderPool(2 * this.reorderPackets, SLOT_BYTES)
    this.readRoom = common.readRoom ?? new ReadRoom()
  }

  /** Takes over what is given, which has been checked. */
  take(given: QpAttributes): void {
    this.pathMtu = given.pathMtu ?? this.pathMtu
    this.responderResources = given.responderResources ?? this.responderResources
    this.initiatorDepth = given.initiatorDepth ?? this.initiatorDepth
    this.access = given.access ?? this.access
    this.retryCount = given.retryCount ?? this.retryCount
    this.rnrRetry = given.rnrRetry ?? this.rnrRetry
    this.ackTimeoutExponent = given.ackTimeoutExponent ?? this.ackTimeoutExponent
    this.minRnrTimer = given.minRnrTimer ?? this.minRnrTimer
    this.ackEveryPackets = given.ackEveryPackets ?? this.ackEveryPackets
    this.acksBeforeNak = given.acksBeforeNak ?? this.acksBeforeNak
    this.selectiveRepeat = given.selectiveRepeat ?? this.selectiveRepeat
    this.grantedPackets = given.grantedPackets ?? this.grantedPackets
  }
}

const PATH_MTU_LEAST = 256
const PATH_MTU_MOST = 4096

/** Throws WEIR_BAD_ARGUMENT, naming the option and its range, for a value out of it. */
function checkSettings(settings: QpSettings, config: CommonQpConfig): void {
  const { qpn } = settings
  range(qpn, 'qpn', settings.qpn, 2, 0xffffff)
  range(qpn, 'sendQueueDepth', settings.sendQueueDepth, 1, 65_536)
  range(qpn, 'receiveQueueDepth', settings.receiveQueueDepth, 1, 65_536)
  range(qpn, 'ackRequestEveryPackets', settings.ackRequestEveryPackets, 1, 1 << 22)
  range(qpn, 'maxPacketsInFlight', settings.maxPacketsInFlight, 1, PSN_HALF)
  range(qpn, 'reorderPackets', settings.reorderPackets, 1, 65_536)
  range(qpn, 'reorderTolerance', settings.reorderTolerance, 1, 65_536)
  checkAttributes(qpn, config)
  if (!(settings.probeTimeoutLeastNs >= 0)) {
    throw bad(qpn, `probeTimeoutLeastNs is 0 to NEVER, not ${settings.probeTimeoutLeastNs}`)
  }
  if (!(settings.retransmitTimeoutLeastNs >= 0)) {
    throw bad(qpn, `retransmitTimeoutLeastNs is 0 to NEVER, not ${settings.retransmitTimeoutLeastNs}`)
  }
}

/** Throws WEIR_BAD_ARGUMENT for a value out of its range. */
export function checkAttributes(qpn: number, given: QpAttributes): void {
  const { pathMtu } = given
  if (pathMtu !== undefined && (pathMtu % 4 !== 0 || pathMtu < PATH_MTU_LEAST || pathMtu > PATH_MTU_MOST)) {
    throw bad(qpn, `pathMtu is a multiple of 4 from ${PATH_MTU_LEAST} to ${PATH_MTU_MOST}, not ${pathMtu}`)
  }
  if (given.ackEveryPackets !== undefined) range(qpn, 'ackEveryPackets', given.ackEveryPackets, 0, PSN_HALF)
  if (given.access !== undefined) range(qpn, 'access', given.access, 0, 15)
  if (given.responderResources !== undefined)
    range(qpn, 'responderResources', given.responderResources, 0, 255)
  if (given.initiatorDepth !== undefined) range(qpn, 'initiatorDepth', given.initiatorDepth, 0, 255)
  if (given.retryCount !== undefined) range(qpn, 'retryCount', given.retryCount, 0, 7)
  if (given.rnrRetry !== undefined) range(qpn, 'rnrRetry', given.rnrRetry, 0, 7)
  if (given.ackTimeoutExponent !== undefined)
    range(qpn, 'ackTimeoutExponent', given.ackTimeoutExponent, 0, 31)
  if (given.minRnrTimer !== undefined) range(qpn, 'minRnrTimer', given.minRnrTimer, 0, 31)
  if (given.grantedPackets !== undefined) range(qpn, 'grantedPackets', given.grantedPackets, 1, PSN_HALF)
  if (given.remoteQpn !== undefined) range(qpn, 'remoteQpn', given.remoteQpn, 0, 0xffffff)
  if (given.receivePsn !== undefined) range(qpn, 'receivePsn', given.receivePsn, 0, 0xffffff)
  if (given.sendPsn !== undefined) range(qpn, 'sendPsn', given.sendPsn, 0, 0xffffff)
}

function range(qpn: number, name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw bad(qpn, `${name} is a whole number from ${least} to ${most}, not ${value}`)
}

/** WEIR_BAD_ARGUMENT for those attributes of `names` that are missing on the way to that state. */
export function lacking(
  qpn: number,
  state: string,
  attributes: QpAttributes,
  names: readonly (keyof QpAttributes)[],
): WeirError {
  const missing = names.filter(name => attributes[name] === undefined)
  return bad(qpn, `${state} needs ${missing.join(' and ')}`)
}

function bad(qpn: number, what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `queue pair ${qpn}: ${what}`)
}
