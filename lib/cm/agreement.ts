/** Converts an application's parameters to REQ and REP, and REQ and REP to what the other end learns. */
import * as cma from '../wire/cm/cma-header.js'
import * as path from '../wire/cm/path.js'
import type * as rep from '../wire/cm/rep.js'
import * as req from '../wire/cm/req.js'
import type { CmConnection } from './connection.js'
import type { ConnectRequest, PeerParameters } from './events.js'
import { flowLabelOfPorts, udpSourcePortOf } from './flow-label.js'
import type { AcceptParams, ConnectParams, ResolvedCmOptions } from './options.js'
import { ackTimeoutExponent } from './timing.js'

const NOTHING = new Uint8Array(0)
/** RoCE has no LIDs, and the permissive one replaces them (IBA annex A16). */
const PERMISSIVE_LID = 0xffff
const DEFAULT_PARTITION = 0xffff

export function buildReq(
  connection: CmConnection,
  params: ConnectParams,
  sourcePort: number,
  options: ResolvedCmOptions,
): req.Req {
  return {
    localCommId: connection.id,
    vendorId: 0,
    serviceId: cma.serviceIdOf(params.port),
    localCaGuid: options.caGuid,
    localQkey: 0,
    localQpn: params.qpn,
    responderResources: params.responderResources ?? 1,
    localEecn: 0,
    initiatorDepth: params.initiatorDepth ?? 1,
    remoteEecn: 0,
    remoteCmResponseTimeout: options.responseTimeoutExponent,
    transport: req.Transport.RC,
    endToEndFlowControl: false,
    startingPsn: params.startingPsn,
    localCmResponseTimeout: options.responseTimeoutExponent,
    retryCount: params.retryCount ?? 7,
    pkey: DEFAULT_PARTITION,
    pathMtu: req.mtuCode(params.pathMtu),
    rdcExists: false,
    rnrRetry: params.rnrRetry ?? 7,
    maxCmRetries: options.maxCmRetries,
    srq: params.srq ?? false,
    extendedTransport: 0,
    primary: primaryPath(connection, params, sourcePort, options),
    alternate: path.none(),
    spare: padded(params.spare ?? NOTHING, req.SPARE_BYTES),
    privateData: reqPrivateData(connection, sourcePort, params.privateData ?? NOTHING),
  }
}

function primaryPath(
  connection: CmConnection,
  params: ConnectParams,
  sourcePort: number,
  options: ResolvedCmOptions,
): path.Path {
  return {
    localLid: PERMISSIVE_LID,
    remoteLid: PERMISSIVE_LID,
    localGid: connection.local.gid,
    remoteGid: connection.remote.gid,
    flowLabel: params.flowLabel ?? flowLabelOfPorts(sourcePort, params.port),
    packetRate: 0,
    trafficClass: params.trafficClass ?? 0,
    hopLimit: params.hopLimit ?? 64,
    serviceLevel: 0,
    subnetLocal: false,
    localAckTimeout:
      params.ackTimeoutExponent ??
      ackTimeoutExponent(options.targetAckDelayExponent, options.packetLifeTimeExponent),
  }
}

function reqPrivateData(connection: CmConnection, sourcePort: number, user: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(req.PRIVATE_DATA_BYTES)
  cma.write(new DataView(bytes.buffer), 0, {
    version: 0,
    ipVersion: connection.local.family,
    sourcePort,
    source: connection.local.gid,
    destination: connection.remote.gid,
  })
  bytes.set(user, cma.BYTES)
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
  return {
    localCommId: connection.id,
    remoteCommId: connection.remoteId,
    localQkey: 0,
    localQpn: params.qpn,
    vendorId: 0,
    localEecn: 0,
    startingPsn: params.startingPsn,
    responderResources: params.responderResources ?? 1,
    initiatorDepth: params.initiatorDepth ?? 1,
    targetAckDelay: options.targetAckDelayExponent,
    failoverAccepted: 0,
    endToEndFlowControl: false,
    rnrRetry: params.rnrRetry ?? 7,
    srq: params.srq ?? false,
    localCaGuid: options.caGuid,
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

/**
 * What the active end learns.
 *
 * @param ackTimeout the exponent for its queue pair
 */
export function peerOfRep(message: rep.Rep, ackTimeout: number): PeerParameters {
  return {
    qpn: message.localQpn,
    startingPsn: message.startingPsn,
    responderResources: message.initiatorDepth,
    initiatorDepth: message.responderResources,
    rnrRetry: message.rnrRetry,
    srq: message.srq,
    caGuid: message.localCaGuid,
    ackTimeoutExponent: ackTimeout,
  }
}

export function requestEvent(connection: CmConnection, message: req.Req): ConnectRequest {
  const { privateData, primary } = message
  const header = new DataView(privateData.buffer, privateData.byteOffset, privateData.byteLength)
  return {
    type: 'connectRequest',
    id: connection.id,
    remote: connection.remote,
    udpPort: connection.udpPort,
    local: connection.local,
    port: cma.portOf(message.serviceId),
    sourcePort: cma.sourcePort(header, 0),
    pathMtu: req.mtuBytes(message.pathMtu),
    retryCount: message.retryCount,
    flowLabel: primary.flowLabel,
    udpSourcePort: primary.flowLabel === 0 ? 0 : udpSourcePortOf(primary.flowLabel),
    trafficClass: primary.trafficClass,
    privateData: privateData.subarray(cma.BYTES),
    spare: message.spare ?? NOTHING,
    ...peerOfReq(message),
  }
}
