/**
 * SIDR_REQ, service ID resolution request: which queue pair takes datagrams for this service (IBA 12.11.1).
 *
 *     24 request id | 28 partition key (2) | 30 reserved (2) | 32 service id (8) | 40 private data (216)
 */
import { Attribute, bytes, hex, printPrivateData, setBytes } from './fields.js'
import * as mad from './mad.js'

export const PRIVATE_DATA_BYTES = 216
const PRIVATE_DATA = 40

interface SidrReq {
  /** 32 bits that the sender has chosen. */
  requestId: number
  partitionKey: number
  serviceId: bigint
  /** Up to 216 bytes when written, 216 when read. In the port spaces of IP it begins with a CMA header. */
  privateData: Uint8Array
}

export const requestId = (view: DataView, at: number): number => view.getUint32(at + 24)
export const serviceId = (view: DataView, at: number): bigint => view.getBigUint64(at + 32)

export function read(view: DataView, at: number): SidrReq {
  return {
    requestId: requestId(view, at),
    partitionKey: view.getUint16(at + 28),
    serviceId: serviceId(view, at),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, message: SidrReq): void {
  mad.write(view, at, Attribute.SIDR_REQ, transactionId)
  view.setUint32(at + 24, message.requestId)
  view.setUint16(at + 28, message.partitionKey)
  view.setBigUint64(at + 32, message.serviceId)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, message.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM SIDR_REQ id ${hex(requestId(view, at), 8)} service ${hex(serviceId(view, at), 16)}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}
