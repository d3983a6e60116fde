/** Converts an application's parameters to REQ and REP, and REQ and REP to what the other end learns. */
import * as cma from '../wire/cm/cma-header.js'
import * as path from '../wire/cm/path.js'
import type * as rep from '../wire/cm/rep.js'
import * as req from '../wire/cm/req.js'
import type { CmConnection, Ends } from './connection.js'
import type { ConnectRequest, PeerParameters } from './events.js'
import { flowLabelOfPorts, udpSourcePortOf } from './flow-label.js'
import {
  type AcceptParams,
  type ConnectParams,
  type QueuePairParams,
  REQ_USER_BYTES,
  type ResolvedCmOptions,
} from './options.js'
import { ackTimeoutExponent } from './timing.js'

const NOTHING = new Uint8Array(0)
/** What a REQ has in place of data that nobody has given. Nobody writes there. */
const NO_USER_DATA = new Uint8Array(REQ_USER_BYTES)
const NO_SPARE = new Uint8Array(req.SPARE_BYTES)
/** RoCE has no LIDs, and the permissive one replaces them (IBA annex A16). */
const PERMISSIVE_LID = 0xffff
const DEFAULT_PARTITION = 0xffff

/** What a REQ says that depends on the connection, with every default. */
interface Asked {
  /** This end's queue pair, as the other end learns of it. */
  peer: PeerParameters
  port: number
  sourcePort: number
  /** Bytes. */
  pathMtu: number
  retryCount: number
  flowLabel: number
  trafficClass: number
  hopLimit: number
  privateData: Uint8Array
  spare: Uint8Array
}

/** A connection at the end that is asked. */
interface Named extends Ends {
  id: number
}

/** @param sourcePort this end's port */
export function askedOf(params: ConnectParams, sourcePort: number, options: ResolvedCmOptions): Asked {
  const { targetAckDelayExponent, packetLifeTimeExponent } = options
  return {
    peer: queuePairOf(
      params,
      options.caGuid,
      params.ackTimeoutExponent ?? ackTimeoutExponent(targetAckDelayExponent, packetLifeTimeExponent),
    ),
    port: params.port,
    sourcePort,
    pathMtu: params.pathMtu,
    retryCount: params.retryCount ?? 7,
    flowLabel: params.flowLabel ?? flowLabelOfPorts(sourcePort, params.port),
    trafficClass: params.trafficClass ?? 0,
    hopLimit: params.hopLimit ?? 64,
    privateData: params.privateData ?? NOTHING,
    spare: params.spare ?? NOTHING,
  }
}

/**
 * What the other end learns of a queue pair of this end. Resources and depth are swapped: see PeerParameters.
 * @param ackTimeout exponent for the other end's queue pair, 0 = that end works it out
 */
export function queuePairOf(params: QueuePairParams, caGuid: bigint, ackTimeout: number): PeerParameters {
  return {
    qpn: params.qpn,
    startingPsn: params.startingPsn,
    responderResources: params.initiatorDepth ?? 1,
    initiatorDepth: params.responderResources ?? 1,
    rnrRetry: params.rnrRetry ?? 7,
    srq: params.srq ?? false,
    caGuid,
    ackTimeoutExponent: ackTimeout,
  }
}

export function buildReq(connection: CmConnection, asked: Asked, options: ResolvedCmOptions): req.Req {
  const { peer } = asked
  return {
    localCommId: connection.id,
    vendorId: 0,
    serviceId: cma.serviceIdOf(asked.port),
    localCaGuid: peer.caGuid,
    localQkey: 0,
    localQpn: peer.qpn,
    responderResources: peer.initiatorDepth,
    localEecn: 0,
    initiatorDepth: peer.responderResources,
    remoteEecn: 0,
    remoteCmResponseTimeout: options.responseTimeoutExponent,
    transport: req.Transport.RC,
    endToEndFlowControl: false,
    startingPsn: peer.startingPsn,
    localCmResponseTimeout: options.responseTimeoutExponent,
    retryCount: asked.retryCount,
    pkey: DEFAULT_PARTITION,
    pathMtu: req.mtuCode(asked.pathMtu),
    rdcExists: false,
    rnrRetry: peer.rnrRetry,
    maxCmRetries: options.maxCmRetries,
    srq: peer.srq,
    extendedTransport: 0,
    primary: primaryPath(connection, asked),
    alternate: path.none(),
    spare: padded(asked.spare, req.SPARE_BYTES),
    privateData: reqPrivateData(connection, asked),
  }
}

function primaryPath(connection: CmConnection, asked: Asked): path.Path {
  return {
    localLid: PERMISSIVE_LID,
    remoteLid: PERMISSIVE_LID,
    localGid: connection.local.gid,
    remoteGid: connection.remote.gid,
    flowLabel: asked.flowLabel,
    packetRate: 0,
    trafficClass: asked.trafficClass,
    hopLimit: asked.hopLimit,
    serviceLevel: 0,
    subnetLocal: false,
    localAckTimeout: asked.peer.ackTimeoutExponent,
  }
}

function reqPrivateData(connection: CmConnection, { sourcePort, privateData }: Asked): Uint8Array {
  const bytes = new Uint8Array(req.PRIVATE_DATA_BYTES)
  cma.write(new DataView(bytes.buffer), 0, {
    version: 0,
    ipVersion: connection.local.family,
    sourcePort,
    source: connection.local.gid,
    destination: connection.remote.gid,
  })
  bytes.set(privateData, cma.BYTES)
  return bytes
}

/** As the peer reads it. */
function padded(some: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  bytes.set(some)
  return bytes
}

export function buildRep(
  connection: CmConnection,
  params: AcceptParams,
  options: ResolvedCmOptions,
): rep.Rep {
  const peer = queuePairOf(params, options.caGuid, 0)
  return {
    localCommId: connection.id,
    remoteCommId: connection.remoteId,
    localQkey: 0,
    localQpn: peer.qpn,
    vendorId: 0,
    localEecn: 0,
    startingPsn: peer.startingPsn,
    responderResources: peer.initiatorDepth,
    initiatorDepth: peer.responderResources,
    targetAckDelay: options.targetAckDelayExponent,
    failoverAccepted: 0,
    endToEndFlowControl: false,
    rnrRetry: peer.rnrRetry,
    srq: peer.srq,
    localCaGuid: peer.caGuid,
    privateData: params.privateData ?? NOTHING,
  }
}

/** What the passive end learns. Resources and depth are swapped: see PeerParameters. */
export function peerOfReq(message: req.Req): PeerParameters {
  return {
    qpn: message.localQpn,
    startingPsn: message.startingPsn,
    responderResources: message.initiatorDepth,
    initiatorDepth: message.responderResources,
    rnrRetry: message.rnrRetry,
    srq: message.srq,
    caGuid: message.localCaGuid,
    ackTimeoutExponent: message.primary.localAckTimeout,
  }
}

/** What the active end learns, but for the time-out of its queue pair. */
export function peerOfRep(message: rep.Rep): PeerParameters {
  return {
    qpn: message.localQpn,
    startingPsn: message.startingPsn,
    responderResources: message.initiatorDepth,
    initiatorDepth: message.responderResources,
    rnrRetry: message.rnrRetry,
    srq: message.srq,
    caGuid: message.localCaGuid,
    ackTimeoutExponent: 0,
  }
}

/** @param connection knows its peer */
export function requestEvent(connection: CmConnection, message: req.Req): ConnectRequest {
  const { privateData, primary } = message
  const header = new DataView(privateData.buffer, privateData.byteOffset, privateData.byteLength)
  return requestOf(connection, {
    peer: connection.peer!,
    port: cma.portOf(message.serviceId),
    sourcePort: cma.sourcePort(header, 0),
    pathMtu: req.mtuBytes(message.pathMtu),
    retryCount: message.retryCount,
    flowLabel: primary.flowLabel,
    trafficClass: primary.trafficClass,
    hopLimit: primary.hopLimit,
    privateData: privateData.subarray(cma.BYTES),
    spare: message.spare ?? NOTHING,
  })
}

/** As the other end would read it in a REQ, for managers of one program, which need none. */
export function requestWithoutReq(named: Named, asked: Asked): ConnectRequest {
  const request = requestOf(named, asked)
  request.privateData =
    asked.privateData.length === 0 ? NO_USER_DATA : padded(asked.privateData, REQ_USER_BYTES)
  request.spare = asked.spare.length === 0 ? NO_SPARE : padded(asked.spare, req.SPARE_BYTES)
  return request
}

function requestOf({ id, remote, udpPort, local }: Named, asked: Asked): ConnectRequest {
  const { peer, flowLabel } = asked
  return {
    type: 'connectRequest',
    id,
    remote,
    udpPort,
    local,
    port: asked.port,
    sourcePort: asked.sourcePort,
    pathMtu: asked.pathMtu,
    retryCount: asked.retryCount,
    flowLabel,
    udpSourcePort: flowLabel === 0 ? 0 : udpSourcePortOf(flowLabel),
    trafficClass: asked.trafficClass,
    privateData: asked.privateData,
    spare: asked.spare,
    qpn: peer.qpn,
    startingPsn: peer.startingPsn,
    responderResources: peer.responderResources,
    initiatorDepth: peer.initiatorDepth,
    rnrRetry: peer.rnrRetry,
    srq: peer.srq,
    caGuid: peer.caGuid,
    ackTimeoutExponent: peer.ackTimeoutExponent,
  }
}
