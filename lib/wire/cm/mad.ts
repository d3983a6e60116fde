/**
 * Management datagram: the 24-byte common header of the 256 bytes that travel as one unreliable datagram to QP 1
 * (IBA 13.4.2). Weir uses only the management class of communication
 * management.
 *
 *     0 base version 1 | 1 class 0x07 | 2 class version 2 | 3 method (R bit on top)
 *     4 status (2) | 6 class specific (2) | 8 transaction id (8)
 *     16 attribute id (2) | 18 reserved (2) | 20 attribute modifier (4)
 *
 * The two reserved bytes, which Linux sends as 0 and does not read, hold the UDP port at which a Weir host receives datagrams, if it differs from the one that it sends this datagram to. 0: the two are the same.
 */
export const BYTES = 256

/** UDP source port that Linux derives for QP 1, whose number and Q_Key are in deth.ts. */
export const UDP_SOURCE_PORT = 55410

export const BASE_VERSION = 1
/** Management class of the connection manager (IBA 16.7.1) and its version. */
const CLASS_CM = 0x07
const CLASS_VERSION_CM = 2
/** Method Send. The connection manager answers with Send too: the R bit is never set. */
const METHOD_SEND = 0x03

/** Why a datagram is no management datagram of the connection manager. */
export const MadFault = {
  NONE: 0,
  LENGTH: 1,
  BASE_VERSION: 2,
  CLASS: 3,
  CLASS_VERSION: 4,
  METHOD: 5,
  ATTRIBUTE: 6,
} as const
export type MadFault = (typeof MadFault)[keyof typeof MadFault]

export const MAD_FAULT_NAMES = [
  'ok',
  'length',
  'base version',
  'class',
  'class version',
  'method',
  'attribute',
] as const

/**
 * Checks whether bytes `at` to `end` are a datagram of the connection manager. Does not check its attribute.
 */
export function check(view: DataView, at: number, end: number): MadFault {
  if (end - at !== BYTES || end > view.byteLength) return MadFault.LENGTH
  if (baseVersion(view, at) !== BASE_VERSION) return MadFault.BASE_VERSION
  if (managementClass(view, at) !== CLASS_CM) return MadFault.CLASS
  if (classVersion(view, at) !== CLASS_VERSION_CM) return MadFault.CLASS_VERSION
  if (method(view, at) !== METHOD_SEND) return MadFault.METHOD
  return MadFault.NONE
}

function baseVersion(view: DataView, at: number): number {
  return view.getUint8(at)
}

function setBaseVersion(view: DataView, at: number, value: number): void {
  view.setUint8(at, value)
}

function managementClass(view: DataView, at: number): number {
  return view.getUint8(at + 1)
}

function setManagementClass(view: DataView, at: number, value: number): void {
  view.setUint8(at + 1, value)
}

function classVersion(view: DataView, at: number): number {
  return view.getUint8(at + 2)
}

function setClassVersion(view: DataView, at: number, value: number): void {
  view.setUint8(at + 2, value)
}

function method(view: DataView, at: number): number {
  return view.getUint8(at + 3)
}

function setMethod(view: DataView, at: number, value: number): void {
  view.setUint8(at + 3, value)
}

export function status(view: DataView, at: number): number {
  return view.getUint16(at + 4)
}

export function transactionId(view: DataView, at: number): bigint {
  return view.getBigUint64(at + 8)
}

function setTransactionId(view: DataView, at: number, value: bigint): void {
  view.setBigUint64(at + 8, value)
}

export function attributeId(view: DataView, at: number): number {
  return view.getUint16(at + 16)
}

function setAttributeId(view: DataView, at: number, value: number): void {
  view.setUint16(at + 16, value)
}

/** UDP port at which the sender receives datagrams. 0: the one that this datagram was sent to. */
export function replyPort(view: DataView, at: number): number {
  return view.getUint16(at + 18)
}

export function setReplyPort(view: DataView, at: number, value: number): void {
  view.setUint16(at + 18, value)
}

/** Writes the header of a message of the connection manager and zeros the 232 bytes after it. */
export function write(view: DataView, at: number, attribute: number, transaction: bigint): void {
  for (let i = 0; i < BYTES; i += 4) view.setUint32(at + i, 0)
  setBaseVersion(view, at, BASE_VERSION)
  setManagementClass(view, at, CLASS_CM)
  setClassVersion(view, at, CLASS_VERSION_CM)
  setMethod(view, at, METHOD_SEND)
  setTransactionId(view, at, transaction)
  setAttributeId(view, at, attribute)
}

/**
 * Prints `MAD class 0x07 method 0x03 attribute 0x0010 tid 0x0000000235153153`, and the status when it is not
 * 0.
 */
export function print(view: DataView, at: number): string {
  const fault = status(view, at) === 0 ? '' : ` status ${hex(status(view, at), 4)}`
  return (
    `MAD class ${hex(managementClass(view, at), 2)} method ${hex(method(view, at), 2)}` +
    ` attribute ${hex(attributeId(view, at), 4)} tid ${hex(transactionId(view, at), 16)}${fault}`
  )
}

function hex(value: number | bigint, digits: number): string {
  return `0x${value.toString(16).padStart(digits, '0')}`
}
