/**
 * REJ, the refusal of a message or a connection (IBA 12.6.7).
 *
 *     24 local comm id | 28 remote comm id | 32 message rejected:2, reserved:6
 *     33 reject info length:7, reserved:1 | 34 reason (2) | 36 additional reject information (72) | 108 private data (148)
 */

import {
  Attribute,
  bytes,
  hex,
  localCommId,
  MESSAGE_KIND_NAMES,
  printPrivateData,
  remoteCommId,
  setBytes,
  setLocalCommId,
  setRemoteCommId,
} from './fields.js'
import * as mad from './mad.js'

const INFORMATION_BYTES = 72
export const PRIVATE_DATA_BYTES = 148
const INFORMATION = 36
const PRIVATE_DATA = 108

/** Reasons (IBA 12.6.7.2). */
export const Reason = {
  NO_QP: 1,
  NO_EEC: 2,
  NO_RESOURCES: 3,
  TIMEOUT: 4,
  UNSUPPORTED_REQUEST: 5,
  INVALID_COMM_ID: 6,
  INVALID_COMM_INSTANCE: 7,
  INVALID_SERVICE_ID: 8,
  INVALID_TRANSPORT_TYPE: 9,
  STALE_CONNECTION: 10,
  RDC_DOES_NOT_EXIST: 11,
  PRIMARY_GID: 12,
  PRIMARY_LID: 13,
  PRIMARY_SL: 14,
  PRIMARY_TRAFFIC_CLASS: 15,
  PRIMARY_HOP_LIMIT: 16,
  PRIMARY_PACKET_RATE: 17,
  ALTERNATE_GID: 18,
  ALTERNATE_LID: 19,
  ALTERNATE_SL: 20,
  ALTERNATE_TRAFFIC_CLASS: 21,
  ALTERNATE_HOP_LIMIT: 22,
  ALTERNATE_PACKET_RATE: 23,
  PORT_AND_CM_REDIRECTION: 24,
  PORT_REDIRECTION: 25,
  INVALID_PATH_MTU: 26,
  INSUFFICIENT_RESPONDER_RESOURCES: 27,
  CONSUMER: 28,
  RNR_RETRY_COUNT: 29,
  DUPLICATE_LOCAL_COMM_ID: 30,
  INVALID_CLASS_VERSION: 31,
  PRIMARY_FLOW_LABEL: 32,
  ALTERNATE_FLOW_LABEL: 33,
} as const
export type Reason = (typeof Reason)[keyof typeof Reason]

const REASON_NAMES = new Map<number, string>(
  Object.entries(Reason).map(([name, code]) => [code, name.toLowerCase().replaceAll('_', ' ')]),
)

/** Returns `stale connection` for 10, and `reason 77` for a code that the standard does not define. */
export function reasonName(code: number): string {
  return REASON_NAMES.get(code) ?? `reason ${code}`
}

export interface Rej {
  localCommId: number
  remoteCommId: number
  /** 2 bits: a MessageKind, or 3 from an erroneous peer. */
  message: number
  reason: number
  /** 7 bits: the valid bytes of the information. An erroneous peer may claim more than 72. */
  informationLength: number
  /** Additional reject information: up to 72 bytes when written, 72 when read. */
  information: Uint8Array
  /** Up to 148 bytes when written, 148 when read. */
  privateData: Uint8Array
}

export const message = (view: DataView, at: number): number => view.getUint8(at + 32) >>> 6
export const reason = (view: DataView, at: number): number => view.getUint16(at + 34)
/** The CA GUID, which is the information of reason TIMEOUT. */
export const informationGuid = (view: DataView, at: number): bigint => view.getBigUint64(at + INFORMATION)

export function read(view: DataView, at: number): Rej {
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    message: message(view, at),
    reason: reason(view, at),
    informationLength: view.getUint8(at + 33) >>> 1,
    information: bytes(view, at + INFORMATION, INFORMATION_BYTES),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, rej: Rej): void {
  mad.write(view, at, Attribute.REJ, transactionId)
  setLocalCommId(view, at, rej.localCommId)
  setRemoteCommId(view, at, rej.remoteCommId)
  view.setUint8(at + 32, rej.message << 6)
  view.setUint8(at + 33, rej.informationLength << 1)
  view.setUint16(at + 34, rej.reason)
  setBytes(view, at + INFORMATION, INFORMATION_BYTES, rej.information)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, rej.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM REJ id ${hex(localCommId(view, at), 8)} to ${hex(remoteCommId(view, at), 8)}` +
    ` of ${MESSAGE_KIND_NAMES[message(view, at)]} reason ${reason(view, at)} (${reasonName(reason(view, at))})` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}
