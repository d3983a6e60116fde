/**
 * RTU, the active side's last message of the handshake: ready to use (IBA 12.6.9).
 *
 *     24 local comm id | 28 remote comm id | 32 private data (224)
 */

import {
  Attribute,
  bytes,
  hex,
  localCommId,
  printPrivateData,
  remoteCommId,
  setBytes,
  setLocalCommId,
  setRemoteCommId,
} from './fields.js'
import * as mad from './mad.js'

const PRIVATE_DATA_BYTES = 224
const PRIVATE_DATA = 32

interface Rtu {
  localCommId: number
  remoteCommId: number
  /** Up to 224 bytes when written, 224 when read. */
  privateData: Uint8Array
}

export function read(view: DataView, at: number): Rtu {
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, rtu: Rtu): void {
  mad.write(view, at, Attribute.RTU, transactionId)
  setLocalCommId(view, at, rtu.localCommId)
  setRemoteCommId(view, at, rtu.remoteCommId)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, rtu.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM RTU id ${hex(localCommId(view, at), 8)} to ${hex(remoteCommId(view, at), 8)}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}
