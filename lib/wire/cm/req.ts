/**
 * REQ, the active side's request for a connection (IBA 12.6.5). Offsets count from the first byte of the MAD.
 *
 *     24 local comm id | 28 reserved, vendor id (3) | 32 service id (8) | 40 local CA GUID (8)
 *     48 reserved (4) | 52 local Q_Key (4) | 56 local QPN (3) | 59 responder resources
 *     60 local EECN (3) | 63 initiator depth | 64 remote EECN (3)
 *     67 remote CM response timeout:5, transport type:2, end-to-end flow control:1
 *     68 starting PSN (3) | 71 local CM response timeout:5, retry count:3 | 72 P_Key (2)
 *     74 path MTU:4, RDC exists:1, RNR retry:3 | 75 max CM retries:4, SRQ:1, extended transport:3
 *     76 primary path (44) | 120 alternate path (44) | 164 private data (92)
 *
 * An alternate path with a local LID of 0 is none. Linux then looks at no other field of it, so 40 bytes are spare.
 */

import * as cma from './cma-header.js'
import {
  Attribute,
  bytes,
  hex,
  localCommId,
  printPrivateData,
  setBytes,
  setLocalCommId,
  setU24,
  u24,
} from './fields.js'
import * as mad from './mad.js'
import * as path from './path.js'

/** The whole private data. With the RDMA port spaces its first 36 bytes are the CMA header. */
export const PRIVATE_DATA_BYTES = 92
const PRIMARY = 76
const ALTERNATE = 120
const PRIVATE_DATA = 164
/** Bytes of an absent alternate path behind its LIDs. */
export const SPARE_BYTES = 40
const SPARE = 124

/** Values of the 2-bit transport service type. */
export const Transport = { RC: 0, UC: 1, RD: 2, EXTENDED: 3 } as const

export interface Req {
  localCommId: number
  /** 24 bits of the enhanced connection establishment. 0 without it. */
  vendorId: number
  serviceId: bigint
  localCaGuid: bigint
  localQkey: number
  localQpn: number
  /** Incoming READs and atomics that the sender serves at a time. */
  responderResources: number
  localEecn: number
  /** READs and atomics that the sender has outstanding at a time. */
  initiatorDepth: number
  remoteEecn: number
  /** 5 bits, 4.096 us * 2^n: the time within which the receiver must answer. */
  remoteCmResponseTimeout: number
  transport: number
  endToEndFlowControl: boolean
  /** First PSN with which the receiver of this message sends. */
  startingPsn: number
  /** 5 bits, 4.096 us * 2^n: the time within which the sender answers a REP. */
  localCmResponseTimeout: number
  /** 3 bits. */
  retryCount: number
  pkey: number
  /** 4 bits: 1 = 256 bytes … 5 = 4096. */
  pathMtu: number
  rdcExists: boolean
  /** 3 bits, 7 = without limit. */
  rnrRetry: number
  /** 4 bits: retransmissions of a message of the connection manager. */
  maxCmRetries: number
  srq: boolean
  /** 3 bits. */
  extendedTransport: number
  primary: path.Path
  alternate: path.Path
  /** Up to 40 bytes in place of an absent alternate path. `read` leaves them out: see `spare`. */
  spare?: Uint8Array
  /** Up to 92 bytes when written, 92 when read. */
  privateData: Uint8Array
}

export const serviceId = (view: DataView, at: number): bigint => view.getBigUint64(at + 32)
export const localCaGuid = (view: DataView, at: number): bigint => view.getBigUint64(at + 40)
export const localQpn = (view: DataView, at: number): number => u24(view, at + 56)
export const startingPsn = (view: DataView, at: number): number => u24(view, at + 68)

/** Returns the bytes of the path MTU with this code, 0 for an invalid code (0 and 6 to 15). */
export function mtuBytes(code: number): number {
  return code >= 1 && code <= 5 ? 128 << code : 0
}

/** Returns the code of a path MTU of 256, 512, 1024, 2048 or 4096 bytes, 0 for any other number. */
export function mtuCode(byteCount: number): number {
  for (let code = 1; code <= 5; code++) if (128 << code === byteCount) return code
  return 0
}

/** Returns the bytes in place of an absent alternate path, empty if there is one. */
export function spare(view: DataView, at: number): Uint8Array {
  return view.getUint32(at + ALTERNATE) === 0 ? bytes(view, at + SPARE, SPARE_BYTES) : new Uint8Array(0)
}

export function read(view: DataView, at: number): Req {
  const response = view.getUint8(at + 67)
  const retries = view.getUint8(at + 71)
  const mtu = view.getUint8(at + 74)
  const limits = view.getUint8(at + 75)
  return {
    localCommId: localCommId(view, at),
    vendorId: u24(view, at + 29),
    serviceId: serviceId(view, at),
    localCaGuid: localCaGuid(view, at),
    localQkey: view.getUint32(at + 52),
    localQpn: localQpn(view, at),
    responderResources: view.getUint8(at + 59),
    localEecn: u24(view, at + 60),
    initiatorDepth: view.getUint8(at + 63),
    remoteEecn: u24(view, at + 64),
    remoteCmResponseTimeout: response >>> 3,
    transport: (response >>> 1) & 3,
    endToEndFlowControl: (response & 1) !== 0,
    startingPsn: startingPsn(view, at),
    localCmResponseTimeout: retries >>> 3,
    retryCount: retries & 7,
    pkey: view.getUint16(at + 72),
    pathMtu: mtu >>> 4,
    rdcExists: (mtu & 8) !== 0,
    rnrRetry: mtu & 7,
    maxCmRetries: limits >>> 4,
    srq: (limits & 8) !== 0,
    extendedTransport: limits & 7,
    primary: path.read(view, at + PRIMARY),
    alternate: path.read(view, at + ALTERNATE),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, req: Req): void {
  mad.write(view, at, Attribute.REQ, transactionId)
  setLocalCommId(view, at, req.localCommId)
  setU24(view, at + 29, req.vendorId)
  view.setBigUint64(at + 32, req.serviceId)
  view.setBigUint64(at + 40, req.localCaGuid)
  view.setUint32(at + 52, req.localQkey)
  setU24(view, at + 56, req.localQpn)
  view.setUint8(at + 59, req.responderResources)
  setU24(view, at + 60, req.localEecn)
  view.setUint8(at + 63, req.initiatorDepth)
  setU24(view, at + 64, req.remoteEecn)
  view.setUint8(
    at + 67,
    (req.remoteCmResponseTimeout << 3) | (req.transport << 1) | (req.endToEndFlowControl ? 1 : 0),
  )
  setU24(view, at + 68, req.startingPsn)
  view.setUint8(at + 71, (req.localCmResponseTimeout << 3) | req.retryCount)
  view.setUint16(at + 72, req.pkey)
  view.setUint8(at + 74, (req.pathMtu << 4) | (req.rdcExists ? 8 : 0) | req.rnrRetry)
  view.setUint8(at + 75, (req.maxCmRetries << 4) | (req.srq ? 8 : 0) | req.extendedTransport)
  path.write(view, at + PRIMARY, req.primary)
  path.write(view, at + ALTERNATE, req.alternate)
  if (req.spare !== undefined) setBytes(view, at + SPARE, SPARE_BYTES, req.spare)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, req.privateData)
}

export function print(view: DataView, at: number): string {
  const req = read(view, at)
  const service = cma.isPortSpace(req.serviceId)
    ? `service ${hex(req.serviceId, 16)} (port ${cma.portOf(req.serviceId)} from ${cma.sourcePort(view, at + PRIVATE_DATA)})`
    : `service ${hex(req.serviceId, 16)}`
  return (
    `CM REQ id ${hex(req.localCommId, 8)} ${service} guid ${hex(req.localCaGuid, 16)}` +
    ` qpn ${hex(req.localQpn, 6)} psn ${hex(req.startingPsn, 6)} mtu ${mtuBytes(req.pathMtu)}` +
    ` resources ${req.responderResources} depth ${req.initiatorDepth} retry ${req.retryCount} rnr ${req.rnrRetry}` +
    ` ack-timeout ${req.primary.localAckTimeout} flow ${hex(req.primary.flowLabel, 5)}` +
    printPrivateData(view, at + PRIVATE_DATA + cma.BYTES, PRIVATE_DATA_BYTES - cma.BYTES)
  )
}
