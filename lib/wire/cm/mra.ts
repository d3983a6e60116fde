/**
 * MRA, message receipt acknowledgement: "I have your message, my answer takes longer" (IBA 12.6.6).
 *
 *     24 local comm id | 28 remote comm id | 32 message MRAed:2, reserved:6
 *     33 service timeout:5, reserved:3 | 34 private data (222)
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

const PRIVATE_DATA_BYTES = 222
const PRIVATE_DATA = 34

interface Mra {
  localCommId: number
  remoteCommId: number
  /** 2 bits: a MessageKind, or 3 from an erroneous peer. */
  message: number
  /** 5 bits: the answer may take up to 4.096 us * 2^n. */
  serviceTimeout: number
  /** Up to 222 bytes when written, 222 when read. */
  privateData: Uint8Array
}

export const message = (view: DataView, at: number): number => view.getUint8(at + 32) >>> 6
export const serviceTimeout = (view: DataView, at: number): number => view.getUint8(at + 33) >>> 3

export function read(view: DataView, at: number): Mra {
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    message: message(view, at),
    serviceTimeout: serviceTimeout(view, at),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, mra: Mra): void {
  mad.write(view, at, Attribute.MRA, transactionId)
  setLocalCommId(view, at, mra.localCommId)
  setRemoteCommId(view, at, mra.remoteCommId)
  view.setUint8(at + 32, mra.message << 6)
  view.setUint8(at + 33, mra.serviceTimeout << 3)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, mra.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM MRA id ${hex(localCommId(view, at), 8)} to ${hex(remoteCommId(view, at), 8)}` +
    ` of ${MESSAGE_KIND_NAMES[message(view, at)]} service-timeout ${serviceTimeout(view, at)}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}
