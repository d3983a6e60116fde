/**
 * SIDR_REP, the answer to a SIDR_REQ: QPN and Q_Key, or why there are none (IBA 12.11.2).
 *
 *     24 request id | 28 status | 29 additional information length | 30 vendor id, high (2) | 32 QPN (3) | 35 vendor id, low
 *     36 service id (8) | 44 Q_Key | 48 additional information (72) | 120 private data (136)
 */
import { Attribute, bytes, hex, printPrivateData, setBytes, setU24, u24 } from './fields.js'
import * as mad from './mad.js'

export const PRIVATE_DATA_BYTES = 136
const PRIVATE_DATA = 120

/** IBA 12.11.2, table of SIDR_REP status. */
export const SidrStatus = {
  VALID: 0,
  /** Nobody has the service. */
  UNSUPPORTED: 1,
  /** The service refuses. */
  REJECTED: 2,
  NO_QP: 3,
  REDIRECT: 4,
  UNSUPPORTED_VERSION: 5,
} as const

interface SidrRep {
  /** That of the request. */
  requestId: number
  /** A SidrStatus, or another number of 8 bits. */
  status: number
  qpn: number
  serviceId: bigint
  qkey: number
  /** Up to 136 bytes when written, 136 when read. */
  privateData: Uint8Array
}

export function read(view: DataView, at: number): SidrRep {
  return {
    requestId: view.getUint32(at + 24),
    status: view.getUint8(at + 28),
    qpn: u24(view, at + 32),
    serviceId: view.getBigUint64(at + 36),
    qkey: view.getUint32(at + 44),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, message: SidrRep): void {
  mad.write(view, at, Attribute.SIDR_REP, transactionId)
  view.setUint32(at + 24, message.requestId)
  view.setUint8(at + 28, message.status)
  setU24(view, at + 32, message.qpn)
  view.setBigUint64(at + 36, message.serviceId)
  view.setUint32(at + 44, message.qkey)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, message.privateData)
}

export function print(view: DataView, at: number): string {
  const { requestId, status, qpn, qkey } = read(view, at)
  return (
    `CM SIDR_REP id ${hex(requestId, 8)} status ${status} qp ${hex(qpn, 1)} qkey ${hex(qkey, 1)}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}
