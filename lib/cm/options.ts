/** Settings of a connection manager and of a connection, with Linux's defaults, and their checks. */
import { WeirError } from '../errors.js'
import * as req from '../wire/cm/req.js'
import { QPN_FIRST } from '../wire/ib/deth.js'
import type { HostAddress } from '../wire/net/address.js'
import * as udp from '../wire/net/udp.js'

export interface CmOptions {
  /** 64 bits that identify this host to its peers, unique like an EUI-64. */
  caGuid: bigint
  /** Addresses of this host, at least one. The first one is its own name in messages. */
  addresses: readonly HostAddress[]
  /**
   * UDP port at which this host receives datagrams, 1 to 65,534. Peers with another port learn it at connect.
   * Default 4791.
   */
  udpPort?: number
  /** Returns unsigned 32-bit numbers, for communication ids and source ports. */
  random: () => number
  /**
   * Returns false for a REQ that cannot be the peer's, by its private data, QPN and first PSN. Such a REQ has
   * no effect on existing connections. Default: always true.
   */
  mayClaim?: (privateData: Uint8Array, qpn: number, startingPsn: number) => boolean
  /**
   * Returns false for a DREQ or REJ that cannot be the peer's, by its private data. Such a message does not
   * end the established connection `id`.
   */
  mayEnd?: (id: number, privateData: Uint8Array) => boolean
  /**
   * Private data with which this end's DREQ and REJ pass the peer's `mayEnd`, at most 148 bytes. Default:
   * none.
   */
  farewell?: (id: number) => Uint8Array
  /** Connections in any state, including timewait, 1 to 65,536. Default 4,096. */
  connectionsMax?: number
  /** Requests that wait for the application's decision, 1 to `connectionsMax`. Default 128. */
  pendingRequestsMax?: number
  /**
   * Datagrams that wait for `pollTransmit`, 1 to 65,536. Of further ones, messages that await an answer wait for room, and answers are
   * lost, as in a network. Default 256.
   */
  transmitQueueMax?: number
  /** Exponent of the time within which an end answers a message, 0 to 31. Default 20: 4.1 s. */
  responseTimeoutExponent?: number
  /** Exponent of a packet's life time in the network, 0 to 30. Default 18: 1.0 s. */
  packetLifeTimeExponent?: number
  /** Exponent of this host's delay before it acknowledges data, 0 to 31. Default 15. */
  targetAckDelayExponent?: number
  /** Exponent of the time that an MRA requests, 0 to 31. Default 24: 65.5 s. */
  serviceTimeoutExponent?: number
  /** Repetitions of a message, 0 to 15. Default 15. */
  maxCmRetries?: number
  /** Largest exponent that a peer's messages can set, 0 to 31. Larger ones are reduced to it. Default 24. */
  peerTimeoutExponentMax?: number
  /** Largest responder resources or initiator depth in a REP, 0 to 255. Default 128. */
  rdAtomicMax?: number
}

export type ResolvedCmOptions = Required<CmOptions>

/** Parameters of a queue pair for both messages. */
export interface QueuePairParams {
  /** 2 to 0xffffff. */
  qpn: number
  /** First PSN that this queue pair expects from the peer. 24 bits. */
  startingPsn: number
  /** READs and atomics that this end serves at a time, 0 to 255. Default 1. */
  responderResources?: number
  /** READs and atomics that this end has outstanding, 0 to 255. Default 1. */
  initiatorDepth?: number
  /** For the peer's queue pair, 0 to 7, 7 = without limit. Default 7. */
  rnrRetry?: number
  srq?: boolean
  privateData?: Uint8Array
}

/** `privateData`: at most 56 bytes. */
export interface ConnectParams extends QueuePairParams {
  remote: HostAddress
  /** One of the manager's addresses. Default: the first one of the remote address's family. */
  local?: HostAddress
  /** The peer's port in RDMA_PS_TCP, 1 to 65,535. */
  port: number
  /** UDP port at which the peer receives datagrams, 1 to 65,534. Default: this host's. */
  udpPort?: number
  /** This end's port, 1 to 65,535. Default: drawn from 32,768 to 60,999. */
  sourcePort?: number
  /** 256, 512, 1024, 2048 or 4096 bytes. */
  pathMtu: number
  /** For the peer's queue pair, 0 to 7. Default 7. */
  retryCount?: number
  /**
   * For the peer's queue pair, 0 to 31. Default: computed from packet life time and ACK delay, 19 with
   * Linux's values.
   */
  ackTimeoutExponent?: number
  /**
   * 20 bits, 0 = none. Default: computed from the two ports. `flowLabelFor` finds one for a UDP source port.
   */
  flowLabel?: number
  trafficClass?: number
  /** Default 64. */
  hopLimit?: number
  /** At most 40 bytes that no application sees, and no other host looks at. */
  spare?: Uint8Array
}

/** `privateData`: at most 196 bytes. */
export type AcceptParams = QueuePairParams

/** Private data that a REQ has after the CMA header, bytes. */
export const REQ_USER_BYTES = 56

const NOTHING = new Uint8Array(0)

/** Returns the options with defaults. Throws WEIR_BAD_ARGUMENT. */
export function resolveOptions(options: CmOptions): ResolvedCmOptions {
  const connectionsMax = options.connectionsMax ?? 4096
  const resolved: ResolvedCmOptions = {
    caGuid: options.caGuid,
    addresses: options.addresses,
    udpPort: options.udpPort ?? udp.PORT_ROCE,
    random: options.random,
    mayClaim: options.mayClaim ?? (() => true),
    mayEnd: options.mayEnd ?? (() => true),
    farewell: options.farewell ?? (() => NOTHING),
    connectionsMax,
    pendingRequestsMax: options.pendingRequestsMax ?? Math.min(128, connectionsMax),
    transmitQueueMax: options.transmitQueueMax ?? 256,
    responseTimeoutExponent: options.responseTimeoutExponent ?? 20,
    packetLifeTimeExponent: options.packetLifeTimeExponent ?? 18,
    targetAckDelayExponent: options.targetAckDelayExponent ?? 15,
    serviceTimeoutExponent: options.serviceTimeoutExponent ?? 24,
    maxCmRetries: options.maxCmRetries ?? 15,
    peerTimeoutExponentMax: options.peerTimeoutExponentMax ?? 24,
    rdAtomicMax: options.rdAtomicMax ?? 128,
  }
  if (resolved.caGuid < 0n || resolved.caGuid >= 1n << 64n) bad('caGuid', '64 bits', resolved.caGuid)
  if (resolved.addresses.length === 0) bad('addresses', 'one or more', 'none')
  within('udpPort', resolved.udpPort, 1, 65_534)
  within('connectionsMax', resolved.connectionsMax, 1, 65_536)
  within('pendingRequestsMax', resolved.pendingRequestsMax, 1, connectionsMax)
  within('transmitQueueMax', resolved.transmitQueueMax, 1, 65_536)
  within('responseTimeoutExponent', resolved.responseTimeoutExponent, 0, 31)
  within('packetLifeTimeExponent', resolved.packetLifeTimeExponent, 0, 30)
  within('targetAckDelayExponent', resolved.targetAckDelayExponent, 0, 31)
  within('serviceTimeoutExponent', resolved.serviceTimeoutExponent, 0, 31)
  within('maxCmRetries', resolved.maxCmRetries, 0, 15)
  within('peerTimeoutExponentMax', resolved.peerTimeoutExponentMax, 0, 31)
  within('rdAtomicMax', resolved.rdAtomicMax, 0, 255)
  return resolved
}

/** Throws WEIR_BAD_ARGUMENT. */
export function checkConnect(params: ConnectParams, own: readonly HostAddress[]): void {
  checkQueuePair(params, REQ_USER_BYTES)
  within('spare.length', params.spare?.length ?? 0, 0, req.SPARE_BYTES)
  within('port', params.port, 1, 65_535)
  if (params.udpPort !== undefined) within('udpPort', params.udpPort, 1, 65_534)
  if (params.sourcePort !== undefined) within('sourcePort', params.sourcePort, 1, 65_535)
  if (req.mtuCode(params.pathMtu) === 0) bad('pathMtu', '256, 512, 1024, 2048 or 4096', params.pathMtu)
  within('retryCount', params.retryCount ?? 7, 0, 7)
  within('ackTimeoutExponent', params.ackTimeoutExponent ?? 0, 0, 31)
  within('flowLabel', params.flowLabel ?? 0, 0, 0xfffff)
  within('trafficClass', params.trafficClass ?? 0, 0, 255)
  within('hopLimit', params.hopLimit ?? 64, 0, 255)
  const { local, remote } = params
  if (local && !own.some(address => address.equals(local))) bad('local', `one of ${own.join(', ')}`, local)
  if (local && local.family !== remote.family) bad('local', `of the family of ${remote}`, local)
  if (!local && !own.some(address => address.family === remote.family)) {
    bad('remote', `of the family of one of ${own.join(', ')}`, remote)
  }
}

/** Throws WEIR_BAD_ARGUMENT. */
export function checkQueuePair(params: QueuePairParams, privateBytesMax: number): void {
  within('qpn', params.qpn, QPN_FIRST, 0xffffff)
  within('startingPsn', params.startingPsn, 0, 0xffffff)
  within('responderResources', params.responderResources ?? 1, 0, 255)
  within('initiatorDepth', params.initiatorDepth ?? 1, 0, 255)
  within('rnrRetry', params.rnrRetry ?? 7, 0, 7)
  within('privateData.length', params.privateData?.length ?? 0, 0, privateBytesMax)
}

/** Throws WEIR_BAD_ARGUMENT unless `value` is an integer from `least` to `most`. @param topic first words of the error */
export function within(name: string, value: number, least: number, most: number, topic?: string): void {
  if (!Number.isInteger(value) || value < least || value > most)
    bad(name, `${least} to ${most}`, value, topic)
}

function bad(name: string, expected: string, found: unknown, topic = 'connection manager'): never {
  throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${name} is ${expected}, not ${String(found)}`)
}
